import { type Row, withGoal } from '../benchmark.js';

/** One step: writes at a fraction of the bare limit for a while. */
export interface RateStep {
  fraction: number;
  wantedPerSecond: number;
  /** The source's acknowledged writes. */
  writtenPerSecond: number;
  /** The highest lag that an instance reported in that time. */
  lagMax_seconds: number;
  /** From the last write until every sync task's checkpoint had passed it. */
  drain_seconds: number;
  /** CPU time of the instances in that time. */
  cpu_seconds: number;
  operations: number;
}

export interface IdleMeasured {
  /** For example `fleet member`. */
  name: string;
  /** Of the busiest instance, as part of one core. */
  cpuFraction: number;
}

/**
 * The engine keeps up with a rate when it is at most this far behind the last write: a checkpoint every 100 ms, and the
 * servers' replies.
 */
const drainMax_seconds = 2;
/** Below this part of the requested writes, the source is the limit, not the engine. */
const writtenMin = 0.9;
const idlePercentMax = 2;

/** Whether the engine kept up with the writes. */
export function holds({ drain_seconds }: RateStep): boolean {
  return drain_seconds <= drainMax_seconds;
}

export function sourceHolds({ wantedPerSecond, writtenPerSecond }: RateStep): boolean {
  return writtenPerSecond >= writtenMin * wantedPerSecond;
}

export function steadyRows(barePerSecond: number, steps: readonly RateStep[], idle: readonly IdleMeasured[]): Row[] {
  const held = steps.filter((step) => holds(step));
  const best = Math.max(0, ...held.map(({ writtenPerSecond }) => writtenPerSecond));
  return [
    { case: 'bare limit', metric: 'events', value: barePerSecond, unit: '1/s' },
    ...steps.flatMap(stepRows),
    { case: 'steady', metric: 'highest rate that holds', value: best, unit: '1/s' },
    { case: 'steady', metric: 'of bare limit', value: best / barePerSecond, unit: '×' },
    ...idle.map(({ name, cpuFraction }) =>
      withGoal(
        { case: `idle ${name}`, metric: 'CPU', value: cpuFraction * 100, unit: '% of a core' },
        '<=',
        idlePercentMax,
      ),
    ),
  ];
}

function stepRows(step: RateStep): Row[] {
  const row = (metric: string, value: number, unit: string): Row => ({
    case: `${Math.round(step.fraction * 100)} % of bare limit`,
    metric,
    value,
    unit,
  });
  return [
    row('written', step.writtenPerSecond, '1/s'),
    row('highest lag', step.lagMax_seconds, 's'),
    withGoal(row('behind the last write', step.drain_seconds, 's'), '<=', drainMax_seconds),
    row('CPU per million events', (step.cpu_seconds / step.operations) * 1e6, 's'),
  ];
}
