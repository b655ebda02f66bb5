import type { CommandName } from '@convoy/api/contract/commands';
import type { FleetProgress } from '@convoy/api/contract/fleet-progress';
import type { InstanceResult } from '@convoy/api/contract/instance-result';
import type { Inventory } from '@convoy/api/contract/inventory';
import type { Mismatch, MismatchQuery } from '@convoy/api/contract/mismatch';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError, type ErrorName } from '@convoy/api/errors/convoy-error';
import type { CommandResult } from '@convoy/api/fleet/fleet';
import type { Acceptance, ContractService } from '@convoy/api/http/contract-routes';
import type { CommandOutcome, FleetDirector } from './fleet-director.js';
import { refuseEmptyFleet } from './recipients.js';

/** Runs a command by name. */
type TimedCommand = <Result>(name: CommandName, run: () => Promise<Result>) => Promise<Result>;

/** The contract's operations on a whole fleet. The caller validates the body of `start`. */
export class DirectorService implements ContractService<FleetProgress> {
  /**
   * @param timed runs each command and may measure it
   * @param guide asks the leader, since a coordinator reaches no cluster
   */
  constructor(
    private readonly director: FleetDirector,
    private readonly timed: TimedCommand,
    private readonly guide: { inventory(request: StartRequest): Promise<Inventory> },
  ) {}

  start(request: StartRequest): Promise<Acceptance> {
    return this.#send('start', request);
  }

  pause(): Promise<Acceptance> {
    return this.#send('pause', {});
  }

  resume(): Promise<Acceptance> {
    return this.#send('resume', {});
  }

  commit(): Promise<Acceptance> {
    return this.#send('commit', {});
  }

  reverse(): Promise<Acceptance> {
    return this.#send('reverse', {});
  }

  /** @throws ConvoyError the fleet's failure; `fleetIncomplete` when no instance is known, `redisUnavailable` */
  async progress(): Promise<FleetProgress> {
    const { failure, progress, instances } = await Promise.resolve(this.director.progress());
    if (failure !== null) throw new ConvoyError(failure.error, failure.errorDescription);
    refuseEmptyFleet(instances, this.director.snapshot());
    return progress;
  }

  /** @throws ConvoyError why the leader cannot read the clusters; `commandTimedOut`, `redisUnavailable` */
  inventory(request: StartRequest): Promise<Inventory> {
    return this.guide.inventory(request);
  }

  /**
   * The mismatches in the instances' reports. Each instance reports the first ones of the whole fleet, and serves all
   * of them itself.
   */
  async *mismatches({ kind, namespace, limit }: MismatchQuery): AsyncGenerator<Mismatch> {
    const matching = this.director
      .mismatches()
      .filter((one) => (kind ?? one.kind) === one.kind && (namespace ?? one.namespace) === one.namespace);
    await Promise.resolve();
    yield* matching.slice(0, limit);
  }

  /** @throws ConvoyError that lists each instance's reply, besides those of `FleetDirector.command` */
  #send(name: CommandName, body: unknown): Promise<Acceptance> {
    return this.timed(name, async () => {
      const outcome = await this.director.command(name, body);
      const failure = outcomeFailure(outcome);
      if (failure !== null) throw failure;
      return { waitingFor: outcome.waitingFor };
    });
  }
}

/** Maximum instances named in a description, refusals first where there are more; the rest is counted. */
const RESULTS_NAMED_MAX = 50;

/**
 * The failure of a command with each instance's reply. Its description lists the replies, what is done, what is not and
 * what to do next. Null when the command succeeded.
 */
export function outcomeFailure({ name, success, results }: CommandOutcome): ConvoyError | null {
  if (success) return null;
  const instances = [...results]
    .map(([id, result]): InstanceResult => ({ id, ...result }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const isLong = instances.length > RESULTS_NAMED_MAX;
  const inOrder = isLong ? instances.toSorted((a, b) => Number(a.success) - Number(b.success)) : instances;
  const lines = inOrder.map((each) =>
    each.success ? `${each.id}: accepted` : `${each.id}: ${each.error} (${each.errorDescription.replace(/\.$/, '')})`,
  );
  const more = isLong ? `; and ${lines.length - RESULTS_NAMED_MAX} more` : '';
  const all = [...results.values()];
  const listed = lines.slice(0, RESULTS_NAMED_MAX).join('; ') + more;
  const whole = all.some((result) => result.success) ? 'Not every' : 'No';
  const description = `${whole} instance accepted ${name}. ${listed}. ${consequence(name, all)}`;
  return new ConvoyError(errorOfWhole(all), description.trimEnd(), { instances });
}

/**
 * The error name of a failed command: the one that all instances returned; a missing reply when no instance rejected
 * it; otherwise `commandFailedOnInstances`.
 */
function errorOfWhole(results: readonly CommandResult[]): ErrorName {
  const names = results.flatMap((result) => (result.success ? [] : [result.error]));
  const first = names[0];
  if (first !== undefined && names.length === results.length && names.every((name) => name === first)) return first;
  return names.every((name) => name === 'commandTimedOut') ? 'commandTimedOut' : 'commandFailedOnInstances';
}

/** The effect of a command that only some instances accepted, and what to do next. */
const partialOutcomes: Readonly<Record<CommandName, string>> = {
  start:
    'The accepting instances recorded the options and wait: the copy starts once all have. Remove the ' +
    'reasons and repeat the same start; only the others receive it.',
  pause:
    'The accepting instances are PAUSED, the others keep running. Repeat pause for the others, or send ' +
    'resume to the paused ones.',
  resume: 'The accepting instances are RUNNING, the others are unchanged. Repeat resume; only the others receive it.',
  commit:
    'The accepting instances recorded the commit permanently; it begins once all have. Remove the reasons ' +
    'and repeat commit; only the others receive it.',
  reverse:
    'The accepting instances recorded the reverse permanently; it begins once all have. Remove the reasons ' +
    'and repeat reverse; only the others receive it.',
};

/** The effect of a command that the accepting instances have recorded for the whole fleet. */
const recordedOutcome =
  'The accepting instances recorded it for the whole fleet. Remove the reasons: the others then take it by ' +
  'themselves, and progress says for which of them it waits.';

/** A slow instance may still be running the command; one that receives it too late does not run it. */
const lateOutcome = 'Read progress to see whether the instances without a reply carried it out.';

/** What is done, what is not, and what to do next. */
function consequence(name: CommandName, results: readonly CommandResult[]): string {
  const accepted = results.filter((result) => result.success).length;
  const isLate = results.some((result) => !result.success && result.error === 'commandTimedOut');
  const isRecorded = results.some((result) => result.success && result.waitingFor !== undefined);
  if (isRecorded) return recordedOutcome;
  return [...(accepted > 0 ? [partialOutcomes[name]] : []), ...(isLate ? [lateOutcome] : [])].join(' ');
}
