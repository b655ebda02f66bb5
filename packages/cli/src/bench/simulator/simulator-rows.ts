import { median, type Row, withGoal } from '../benchmark.js';
import type { LoadStep, StepResult } from './load-order.js';

/** One step, measured against both servers in direct succession. */
export interface MeasuredPair {
  echo: StepResult;
  simulator: StepResult;
}

const openingSecondsMax = 1;
const shardEventsPerSecondMin = 60_000;
const microsecondsPerSecond = 1e6;

/** Durations of opening a cluster; a process's time includes a request for its version. */
export interface Opening {
  process_seconds: number;
  inProcess_seconds: number;
}

export function openingRows(openings: readonly Opening[]): Row[] {
  const rows = [
    { metric: 'as a process', seconds: ({ process_seconds }: Opening) => process_seconds },
    { metric: 'in the process', seconds: ({ inProcess_seconds }: Opening) => inProcess_seconds },
  ];
  return rows.map(({ metric, seconds }) =>
    withGoal({ case: 'opening', metric, value: median(openings, seconds), unit: 's' }, '<=', openingSecondsMax),
  );
}

/** Rows of a step that the echo supports too. */
export function besideEcho(step: LoadStep, pairs: readonly MeasuredPair[]): Row[] {
  const name = stepName(step);
  const simulator = pairs.map((pair) => pair.simulator);
  const cost = (pick: (result: StepResult) => number) =>
    median(simulator, (result) => (pick(result) / result.documents) * microsecondsPerSecond);
  const clientCost = cost((result) => result.clientCpu_seconds);
  const serverCost = cost((result) => result.serverCpu_seconds);
  return [
    ...rateRows(name, simulator),
    {
      case: name,
      metric: 'part of the echo’s throughput',
      value: median(pairs, (pair) => rate(pair.simulator) / rate(pair.echo)),
      unit: '',
    },
    { case: name, metric: 'CPU of the client per document', value: clientCost, unit: 'µs' },
    withGoal(
      { case: name, metric: 'CPU of the simulator per document', value: serverCost, unit: 'µs' },
      '<=',
      round(clientCost),
    ),
    ...costPerGigabyte(name, simulator),
    { case: name, metric: 'echo: throughput', value: median(pairs, (pair) => rate(pair.echo)), unit: 'MB/s' },
    {
      case: name,
      metric: 'echo: CPU of the server',
      value: median(pairs, (pair) => perGigabyte(pair.echo, pair.echo.serverCpu_seconds)),
      unit: 's/GB',
    },
  ];
}

/** Rows of a step that only a database supports. */
export function changeRows(step: LoadStep, results: readonly StepResult[]): Row[] {
  const name = stepName(step);
  const rows = [...rateRows(name, results), ...costPerGigabyte(name, results)];
  if (step.kind !== 'stream') return rows;
  const events = median(results, ({ documents, seconds }) => documents / seconds);
  const row: Row = { case: name, metric: 'events', value: Math.round(events), unit: '1/s' };
  return [step.from === 'shard' ? withGoal(row, '>=', shardEventsPerSecondMin) : row, ...rows.slice(1)];
}

function rateRows(name: string, results: readonly StepResult[]): Row[] {
  return [
    {
      case: name,
      metric: 'documents',
      value: Math.round(median(results, ({ documents, seconds }) => documents / seconds)),
      unit: '1/s',
    },
    { case: name, metric: 'throughput', value: median(results, rate), unit: 'MB/s' },
  ];
}

function costPerGigabyte(name: string, results: readonly StepResult[]): Row[] {
  return [
    {
      case: name,
      metric: 'CPU of the client',
      value: median(results, (result) => perGigabyte(result, result.clientCpu_seconds)),
      unit: 's/GB',
    },
    {
      case: name,
      metric: 'CPU of the simulator',
      value: median(results, (result) => perGigabyte(result, result.serverCpu_seconds)),
      unit: 's/GB',
    },
  ];
}

function rate({ bytes, seconds }: StepResult): number {
  return bytes / 1e6 / seconds;
}

function perGigabyte({ bytes }: StepResult, cpu_seconds: number): number {
  return cpu_seconds / (bytes / 1e9);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function stepName(step: LoadStep): string {
  switch (step.kind) {
    case 'insert':
    case 'read':
      return `${step.kind}, ${step.key} key, ${step.use} documents`;
    case 'change':
      return `${step.change} by _id, hashed key`;
    case 'snapshot':
      return `read at an earlier time by _id, ${step.from}`;
    case 'stream':
      return `change stream of ${step.events}s, ${step.from}`;
  }
}
