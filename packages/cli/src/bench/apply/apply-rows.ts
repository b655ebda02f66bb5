import { type Row, withGoal } from '../benchmark.js';
import { median } from '../copy/copy-rows.js';
import type { ApplyMeasured } from './apply-order.js';
import type { BatchForm } from './ready-batches.js';

/** Required part of the bare limit. */
const ofBareLimitMin = 0.8;
/** Promised peak for an instance with the default buffer limit, whatever its lag. */
const memoryMegabytesMax = 300;

/** The runs of one workload. */
export interface WorkloadMeasured {
  /** For example `update 1 kB`. */
  name: string;
  operations: number;
  sweep: { form: BatchForm; result: ApplyMeasured }[];
  /** With the best form of the sweep. */
  bare: ApplyMeasured[];
  engine: ApplyMeasured[];
  /** Whether the goal against the bare limit applies. */
  promisesSpeed: boolean;
  ordered: { operations: number; result: ApplyMeasured };
}

/** The table of one workload: medians of the rounds, and the highest peaks. */
export function workloadRows(measured: WorkloadMeasured): Row[] {
  const { name, operations, sweep, bare, engine, ordered } = measured;
  const row = (subject: string, metric: string, value: number, unit: string): Row => ({
    case: `${name} ${subject}`,
    metric,
    value,
    unit,
  });
  const fraction = row('engine', 'rate of bare limit', rateOf(operations, engine) / rateOf(operations, bare), '×');
  return [
    ...sweep.map(({ form, result }) =>
      row('bare limit', `${form.workers} workers of ${form.operationsMax}`, rateOf(operations, [result]), '1/s'),
    ),
    row('bare limit', 'events', rateOf(operations, bare), '1/s'),
    row('bare limit', 'CPU per million events', cpuOf(operations, bare), 's'),
    row('ordered batches', 'events', rateOf(ordered.operations, [ordered.result]), '1/s'),
    row('engine', 'events', rateOf(operations, engine), '1/s'),
    row('engine', 'CPU per million events', cpuOf(operations, engine), 's'),
    ...rateWithProcessors(bare, engine).map((value) =>
      row('engine', 'rate of bare limit, a processor for each process', value, '×'),
    ),
    measured.promisesSpeed ? withGoal(fraction, '>=', ofBareLimitMin) : fraction,
    withGoal(
      row(
        'engine',
        'peak memory of an instance',
        Math.max(...engine.map(({ peakMemoryBytes }) => peakMemoryBytes)) / 1e6,
        'MB',
      ),
      '<=',
      memoryMegabytesMax,
    ),
  ];
}

function rateOf(operations: number, results: readonly ApplyMeasured[]): number {
  return operations / median(results, ({ seconds }) => seconds);
}

/**
 * The rates that the busiest processes allow. With a source and instances beside the destination, a small host has
 * fewer processors than busy processes, while the bare limit needs only two. No rows for servers that cannot be
 * measured.
 */
function rateWithProcessors(bare: readonly ApplyMeasured[], engine: readonly ApplyMeasured[]): number[] {
  if ([...bare, ...engine].some(({ busiest_seconds }) => busiest_seconds === null)) return [];
  const busiest = (results: readonly ApplyMeasured[]): number =>
    median(results, ({ busiest_seconds }) => busiest_seconds ?? 0);
  return [busiest(bare) / busiest(engine)];
}

function cpuOf(operations: number, results: readonly ApplyMeasured[]): number {
  return (median(results, ({ cpu_seconds }) => cpu_seconds) / operations) * 1e6;
}
