import { type Row, withGoal, rowMaker } from '../benchmark.js';
import type { CopyRun } from '../peer/copy-run.js';

/** Allowance for noise of short runs, which is not growth. */
const growthMax = 1.5;
/** Shorter bare round trips are within the noise between two runs. */
const noise_seconds = 1;

/** One run with a number of items. */
export interface GrowthStep {
  count: number;
  run: CopyRun;
  /** Duration of the minimal commands for these items. */
  bare_seconds: number;
}

/**
 * The engine's cost of one more item from step to step, in milliseconds and as a multiple of its bare round trips. A
 * run's fixed costs cancel out in the differences.
 * @param thing one item, for example `collection`
 */
export function growthRows(thing: string, steps: readonly GrowthStep[]): Row[] {
  const differences = steps.slice(1).map((step, index) => perThing(step, steps[index] ?? step));
  return [
    ...steps.flatMap((step) => stepRows(thing, step)),
    ...differences.flatMap((difference) => differenceRows(thing, difference)),
    ...growthOf(thing, differences),
  ];
}

/**
 * The last multiple divided by the first one above the noise: the first step may add so few items that their bare round
 * trips are within the noise between two runs.
 */
function growthOf(thing: string, differences: readonly Difference[]): Row[] {
  const last = differences.at(-1);
  const first =
    differences.slice(0, -1).find(({ bare_ms, bare_seconds }) => bare_ms > 0 && bare_seconds >= noise_seconds) ??
    differences.at(-2);
  if (last === undefined || first === undefined) return [];
  return [
    withGoal(
      rowMaker(`${first.from} to ${last.to}`)(
        `growth of the multiple per ${thing}`,
        last.multiple / first.multiple,
        '×',
      ),
      '<=',
      growthMax,
    ),
  ];
}

interface Difference {
  from: number;
  to: number;
  engine_ms: number;
  cpu_ms: number;
  bare_ms: number;
  /** Of all added items. */
  bare_seconds: number;
  multiple: number;
}

function perThing(step: GrowthStep, before: GrowthStep): Difference {
  const each = (valueOf: (one: GrowthStep) => number) =>
    ((valueOf(step) - valueOf(before)) * 1000) / (step.count - before.count);
  const engine_ms = each(({ run }) => run.seconds);
  const bare_ms = each(({ bare_seconds }) => bare_seconds);
  return {
    from: before.count,
    to: step.count,
    engine_ms,
    cpu_ms: each(({ run }) => run.cpu_seconds),
    bare_ms,
    bare_seconds: step.bare_seconds - before.bare_seconds,
    multiple: engine_ms / bare_ms,
  };
}

function stepRows(thing: string, { count, run, bare_seconds }: GrowthStep): Row[] {
  const row = rowMaker(`${count} ${thing}s`);
  return [
    row('initialisation', run.initialisation.seconds, 's'),
    row('copy', run.seconds - run.initialisation.seconds, 's'),
    row('CPU of the instances', run.cpu_seconds, 's'),
    row('peak memory of an instance', run.ready.peakMemoryBytes / 1e6, 'MB'),
    row('bare round trips', bare_seconds, 's'),
  ];
}

function differenceRows(thing: string, { from, to, engine_ms, cpu_ms, bare_ms, multiple }: Difference): Row[] {
  const row = rowMaker(`${from} to ${to}`);
  return [
    row(`time per ${thing}`, engine_ms, 'ms'),
    row(`CPU per ${thing}`, cpu_ms, 'ms'),
    row(`bare round trips per ${thing}`, bare_ms, 'ms'),
    row(`multiple per ${thing}`, multiple, '×'),
  ];
}
