import { commitSteps, type LeaderStep } from '@convoy/instance/lifecycle/migration/steps';
import { median, type Row, withGoal, rowMaker } from '../benchmark.js';

/** One cut-over, with all times in milliseconds since 1970. */
export interface CutOverMeasured {
  commandAt_ms: number;
  /** When all instances had accepted the command. */
  acceptedAt_ms: number;
  /** When the leader had finished each step. */
  steps: ReadonlyMap<string, number>;
  refusedAt_ms: number;
  /** When progress showed `canWrite`. */
  canWriteAt_ms: number;
  writtenPerSecond: number;
  /** Acknowledged writes that the destination lacks. */
  missing: number;
  acknowledged: number;
}

/** Allowed duration of a cut-over on servers whose idle clock ticks every second. */
const cutOverMax_ms = 2_000;
/** The last step before an application may write. */
const opens = 'writesAllowed' satisfies LeaderStep;

/**
 * The rows of several cut-overs of one kind: medians of the times, and the sum of missing writes.
 * @param bare duration of each step's bare commands in milliseconds
 */
export function cutOverRows(
  name: string,
  cutOvers: readonly CutOverMeasured[],
  bare: ReadonlyMap<string, number>,
): Row[] {
  const row = rowMaker(name);
  const passed = commitSteps.slice(0, commitSteps.indexOf(opens) + 1);
  const times = [
    ['command accepted', (one: CutOverMeasured) => one.acceptedAt_ms - one.commandAt_ms] as const,
    ...passed.map((step, at) => [step, (one: CutOverMeasured) => stepTime(one, step, passed[at - 1])] as const),
  ];
  const bareSum = passed.reduce((sum, step) => sum + (bare.get(step) ?? 0), 0);
  return [
    row(
      'writes before',
      median(cutOvers, ({ writtenPerSecond }) => writtenPerSecond),
      '1/s',
    ),
    ...times.flatMap(([metric, time]) => {
      const bare_ms = bare.get(metric);
      return [
        row(metric, median(cutOvers, time), 'ms'),
        ...(bare_ms === undefined ? [] : [row(`${metric}: bare round trips`, bare_ms, 'ms')]),
      ];
    }),
    withGoal(
      row(
        'commit to canWrite',
        median(cutOvers, (one) => one.canWriteAt_ms - one.commandAt_ms),
        'ms',
      ),
      '<=',
      cutOverMax_ms,
    ),
    row('bare round trips of all steps', bareSum, 'ms'),
    row(
      'first rejected write to canWrite',
      median(cutOvers, (one) => one.canWriteAt_ms - one.refusedAt_ms),
      'ms',
    ),
    row(
      'acknowledged writes',
      cutOvers.reduce((sum, { acknowledged }) => sum + acknowledged, 0),
      '',
    ),
    withGoal(
      row(
        'acknowledged writes missing on the destination',
        cutOvers.reduce((sum, { missing }) => sum + missing, 0),
        '',
      ),
      '<=',
      0,
    ),
  ];
}

/** The first step starts when all have accepted the command. */
function stepTime({ steps, acceptedAt_ms }: CutOverMeasured, step: string, before: string | undefined): number {
  return (steps.get(step) ?? NaN) - (before === undefined ? acceptedAt_ms : (steps.get(before) ?? NaN));
}
