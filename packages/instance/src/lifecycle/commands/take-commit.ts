import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { type Clock, NoAnswerError, within } from '../../async/clock.js';
import type { MigrationRun } from '../run/migration-run.js';
import type { CommitOffer, OfferedRun } from './commit-offer.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { isOlder, readFeatureVersion, releaseText } from '../../cluster/topology.js';

/** A commit is taken within this time or not at all: coordinators wait 30 s for the answer, and clients 45 s. */
const limit_ms = 25_000;

interface CommittedRun extends OfferedRun, Pick<MigrationRun, 'requestCommit'> {
  readonly deps: OfferedRun['deps'] & Pick<MigrationRun['deps'], 'source' | 'destination' | 'home'>;
}

/**
 * The time for one command to commit, from its arrival. An operator who reads that it was late may let users write
 * again: a commit that is taken later would find them at work.
 */
export class CommitDeadline {
  readonly #at_ms: number;

  /** @param awaited_ms how long the sender still waits; without it, as long as anybody does */
  constructor(
    private readonly clock: Clock,
    awaited_ms = limit_ms,
  ) {
    this.#at_ms = clock.monotonic_ms() + Math.min(limit_ms, awaited_ms);
  }

  /**
   * Takes the commit: checks that it is offered, and records it.
   * @throws ConvoyError `commandTimedOut` when the time is over, `cannotCommit`, `unsupportedServerVersion`
   */
  async take(run: CommittedRun, offer: Pick<CommitOffer, 'untilItStands'>, signal: AbortSignal): Promise<void> {
    const left_ms = this.#at_ms - this.clock.monotonic_ms();
    if (left_ms <= 0) throw notTaken();
    const record = { isBegun: false };
    const take = async (each: AbortSignal) => {
      await offer.untilItStands(run, each);
      if (!(await run.isCommitRequested(each))) await refuseUpgradedSource(this.clock, run.deps, each);
      // The offer may have ended meanwhile.
      await offer.untilItStands(run, each);
      record.isBegun = true;
      await run.requestCommit(each);
    };
    try {
      await within(left_ms, this.clock, take, signal);
    } catch (error) {
      const isLate = error instanceof NoAnswerError;
      if (record.isBegun && (isLate || signal.aborted)) throw unconfirmed(error);
      throw isLate ? notTaken(error) : error;
    }
  }
}

function notTaken(cause?: unknown): ConvoyError {
  return new ConvoyError(
    'commandTimedOut',
    'The instance could not check in time whether it may commit, so it does not, and will not later. ' +
      'Read progress for the reason, and send commit again.',
    { cause },
  );
}

/** The write is in flight: nobody knows whether the destination has it, or will. */
function unconfirmed(cause: unknown): ConvoyError {
  return new ConvoyError(
    'commandTimedOut',
    'The destination has not confirmed that it recorded the commit, which may still begin. Keep the writers of the ' +
      'source stopped, and read progress: while the state is RUNNING, send commit again.',
    { cause },
  );
}

/** Time for the clusters to answer; a commit does not wait longer. */
const answer_ms = 5_000;

type CommittedClusters = Record<'source' | 'destination' | 'home', ClusterClient>;

/**
 * Refuses a commit for which the clusters' feature compatibility versions do not fit now.
 * @throws ConvoyError `unsupportedServerVersion`
 */
export async function refuseUpgradedSource(
  clock: Clock,
  clusters: CommittedClusters,
  signal: AbortSignal,
): Promise<void> {
  const refusal = await versionRefusal(clock, clusters, signal).catch(() => {
    signal.throwIfAborted();
    return null;
  });
  if (refusal !== null)
    throw new ConvoyError('unsupportedServerVersion', `The migration cannot be committed now: ${refusal}.`);
}

/**
 * Why a commit would be refused for the feature compatibility versions, and what to do; null if they fit. The
 * destination's was lowered under this process, which sends commands of the version before; or the source was upgraded
 * beyond the destination: users may use features that the destination lacks. A reverse may go back to any release.
 * @throws what asking the clusters throws; an error when they do not answer in time
 */
export async function versionRefusal(
  clock: Clock,
  { source, destination, home }: CommittedClusters,
  signal: AbortSignal,
): Promise<string | null> {
  const ask = (each: AbortSignal) =>
    Promise.all([source, destination].map(({ router }) => readFeatureVersion(router, { signal: each })));
  const [from, to] = await within(answer_ms, clock, ask, signal);
  if (to && isOlder(to.version, destination.version))
    return (
      `the featureCompatibilityVersion of ${destination.name} was lowered to ${releaseText(to.version)} ` +
      'during the migration: raise it again'
    );
  if (destination !== home || !from || !to || !isOlder(to.version, from.version)) return null;
  const [above, below] = [releaseText(from.version), releaseText(to.version)];
  return `the source's featureCompatibilityVersion ${above} is now above the destination's ${below}: raise it there`;
}
