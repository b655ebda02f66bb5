import { ConvoyError, type ErrorName } from '@convoy/api/errors/convoy-error';
import type { CommandName } from '@convoy/api/contract/commands';
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

/** Instances whose result is named in a description; the rest is counted. */
const RESULTS_NAMED_MAX = 50;

/**
 * The failure of a command, whose description lists the result of each instance; null when it succeeded.
 */
export function outcomeFailure({ name, success, results }: CommandOutcome): ConvoyError | null {
  if (success) return null;
  const ids = [...results.keys()].sort();
  const lines = ids.flatMap((id) => {
    const result = results.get(id);
    if (result === undefined) return [];
    return [result.success ? `${id}: accepted` : `${id}: ${result.error} (${result.errorDescription})`];
  });
  const more = lines.length > RESULTS_NAMED_MAX ? `; and ${lines.length - RESULTS_NAMED_MAX} more` : '';
  const error = errorOfWhole([...results.values()]);
  return new ConvoyError(error, `${name} was not accepted by every instance. ${lines.slice(0, RESULTS_NAMED_MAX).join('; ')}${more}`);
}
