import { ConvoyError, type ErrorName } from '@convoy/api/errors/convoy-error';
import type { CommandName } from '@convoy/api/contract/commands';
import type { InstanceResult } from '@convoy/api/contract/instance-result';
import type { CommandResult } from '@convoy/api/fleet/fleet';

/** What became of a command that was sent to a fleet. */
export interface CommandOutcome {
  readonly commandId: string;
  readonly name: CommandName;
  /** True when every instance has accepted it. */
  readonly success: boolean;
  /** By instance id. */
  readonly results: ReadonlyMap<string, CommandResult>;
}

/**
 * The error that stands for the whole: what every instance says alike; a missing answer when nobody refused; else
 * `commandFailedOnInstances`.
 */
function errorOfWhole(results: readonly CommandResult[]): ErrorName {
  const names = results.flatMap((result) => (result.success ? [] : [result.error]));
  const first = names[0];
  if (first !== undefined && names.length === results.length && names.every((name) => name === first)) return first;
  return names.every((name) => name === 'commandTimedOut') ? 'commandTimedOut' : 'commandFailedOnInstances';
}

/** What a command has done that only some have accepted, and what to do next. */
const partialOutcomes: Readonly<Record<CommandName, string>> = {
  start:
    'Those that accepted have recorded the options and wait; nothing is copied before all have. Remove the reasons, then send the same start again: it goes to the others alone.',
  pause:
    'Those that accepted are PAUSED, the others go on. Send pause again for the others, or resume for those that are paused.',
  resume:
    'Those that accepted are RUNNING, the others stay as they are. Send resume again: it goes to the others alone.',
  commit:
    'Those that accepted have recorded it and do not take it back; the commit begins when all have. Remove the reasons, then send commit again: it goes to the others alone.',
  reverse:
    'Those that accepted have recorded it and do not take it back; the reverse begins when all have. Remove the reasons, then send reverse again: it goes to the others alone.',
};

/** An instance that is late may be carrying the command out; one that takes it later does not. */
const lateOutcome = 'Whether an instance that has not answered in time has carried it out is shown by progress.';

/** What is done, what is not, and what to do next. */
function consequence(name: CommandName, results: readonly CommandResult[]): string {
  const accepted = results.filter((result) => result.success).length;
  const isLate = results.some((result) => !result.success && result.error === 'commandTimedOut');
  const done = accepted > 0 ? partialOutcomes[name] : 'No instance has accepted it.';
  return isLate ? `${done} ${lateOutcome}` : done;
}

/** Instances whose result is named in a description; the rest is counted. */
const RESULTS_NAMED_MAX = 50;

/**
 * The failure of a command, which has the result of each instance, and whose description lists them, says what is done and what is not, and
 * what to do next; null when it succeeded.
 */
export function outcomeFailure({ name, success, results }: CommandOutcome): ConvoyError | null {
  if (success) return null;
  const instances = [...results]
    .map(([id, result]): InstanceResult => ({ id, ...result }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const lines = instances.map((each) =>
    each.success ? `${each.id}: accepted` : `${each.id}: ${each.error} (${each.errorDescription})`,
  );
  const more = lines.length > RESULTS_NAMED_MAX ? `; and ${lines.length - RESULTS_NAMED_MAX} more` : '';
  const all = [...results.values()];
  const listed = lines.slice(0, RESULTS_NAMED_MAX).join('; ') + more;
  return new ConvoyError(
    errorOfWhole(all),
    `${name} was not accepted by every instance. ${listed}. ${consequence(name, all)}`,
    { instances },
  );
}
