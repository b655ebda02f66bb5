import { median, type Row, withGoal, rowMaker } from '../benchmark.js';
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
    withGoal(rowMaker('opening')(metric, median(openings, seconds), 's'), '<=', openingSecondsMax),
  );
}

/** Rows of a step that the echo supports too. */
export function besideEcho(step: LoadStep, pairs: readonly MeasuredPair[]): Row[] {
  const name = stepName(step);
  const row = rowMaker(name);
  const simulator = pairs.map((pair) => pair.simulator);
  const cost = (pick: (result: StepResult) => number) =>
    median(simulator, (result) => (pick(result) / result.documents) * microsecondsPerSecond);
  const clientCost = cost((result) => result.clientCpu_seconds);
  const serverCost = cost((result) => result.serverCpu_seconds);
  return [
    ...rateRows(name, simulator),
    row(
      'part of the echo’s throughput',
      median(pairs, (pair) => rate(pair.simulator) / rate(pair.echo)),
      '',
    ),
    row('CPU of the client per document', clientCost, 'µs'),
    withGoal(row('CPU of the simulator per document', serverCost, 'µs'), '<=', round(clientCost)),
    ...costPerGigabyte(name, simulator),
    row(
      'echo: throughput',
      median(pairs, (pair) => rate(pair.echo)),
      'MB/s',
    ),
    row(
      'echo: CPU of the server',
      median(pairs, (pair) => perGigabyte(pair.echo, pair.echo.serverCpu_seconds)),
      's/GB',
    ),
  ];
}

/** Rows of a step that only a database supports. */
export function changeRows(step: LoadStep, results: readonly StepResult[]): Row[] {
  const name = stepName(step);
  const row = rowMaker(name);
  const rows = [...rateRows(name, results), ...costPerGigabyte(name, results)];
  if (step.kind !== 'stream') return rows;
  const events = median(results, ({ documents, seconds }) => documents / seconds);
  const eventsRow = row('events', Math.round(events), '1/s');
  return [step.from === 'shard' ? withGoal(eventsRow, '>=', shardEventsPerSecondMin) : eventsRow, ...rows.slice(1)];
}

function rateRows(name: string, results: readonly StepResult[]): Row[] {
  const row = rowMaker(name);
  return [
    row('documents', Math.round(median(results, ({ documents, seconds }) => documents / seconds)), '1/s'),
    row('throughput', median(results, rate), 'MB/s'),
  ];
}

function costPerGigabyte(name: string, results: readonly StepResult[]): Row[] {
  const row = rowMaker(name);
  return [
    row(
      'CPU of the client',
      median(results, (result) => perGigabyte(result, result.clientCpu_seconds)),
      's/GB',
    ),
    row(
      'CPU of the simulator',
      median(results, (result) => perGigabyte(result, result.serverCpu_seconds)),
      's/GB',
    ),
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
