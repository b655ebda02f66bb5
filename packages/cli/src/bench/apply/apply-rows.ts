import { type Row, withGoal } from '../benchmark.js';
import { median } from '../copy/copy-rows.js';
import type { ApplyMeasured } from './apply-order.js';
import type { BatchForm } from './ready-batches.js';

/** Part of the bare limit that the engine has to reach. */
const ofBareLimitMin = 0.8;
/** The promise for an instance with the default bound of its buffers, however far it is behind. */
const memoryMegabytesMax = 300;

/** The runs of one workload. */
export interface WorkloadMeasured {
  /** For example `update 1 KB`. */
  name: string;
  operations: number;
  sweep: { form: BatchForm; result: ApplyMeasured }[];
  /** In the best form of the sweep. */
  bare: ApplyMeasured[];
  engine: ApplyMeasured[];
  /** The goal against the bare limit is promised for it. */
  promisesSpeed: boolean;
  ordered: { operations: number; result: ApplyMeasured };
}

/** The table of one workload; figures are medians of the rounds, peaks the highest. */
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
      row('bare limit', `${form.workers} lanes of ${form.operationsMax}`, rateOf(operations, [result]), '1/s'),
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
 * The rates that the busiest processes allow: with a source and instances beside the destination a small machine has fewer processors than
 * busy processes, and the bare limit needs but two. None where servers cannot be looked at.
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
