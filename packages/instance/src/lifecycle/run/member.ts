import { isDeepStrictEqual } from 'node:util';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Timestamp } from 'mongodb';
import type { Catalog } from '../../catalog/namespace.js';
import { timeOf } from '../../cluster/cluster-time.js';
import type { Definition } from '../../store/definition-journal.js';
import { SessionFence } from '../../store/session-fence.js';
import { sourceShardOf, turnsOf } from '../../store/reversal.js';
import { runTogether } from '../../store/run-together.js';
import type { DrainedRound, ShareRecord } from '../../store/share-record.js';
import { DefinitionFollower, type DefinitionSource, type JournalPosition } from '../share/follow-definitions.js';
import { followedCatalog } from '../share/followed-catalog.js';
import { CalmShares } from '../leader/calm.js';
import { planOf } from '../leader/initialise.js';
import { filterOf, type MigrationContext, readBegunCatalog } from '../migration/migration-context.js';
import { isStreamAwaited } from '../migration/commit-awaited.js';
import { type MigrationView, untilOrFor } from '../migration/migration-watch.js';
import { recreateCapped } from '../share/recreate-capped.js';
import { shareCollection, shareCollections } from '../share/share-collections.js';
import { endWhenReplaced, type Replacement } from '../share/share-replaced.js';
import type { ShareFigures } from '../figures/share-figures.js';
import { ShareSync } from '../share/share-sync.js';
import { isOpeningDecided, isVerified } from '../../store/migration-record.js';
import { VerifiedShare } from '../share/verification-share.js';

/** How often a share that waits for the end of the commit looks whether it has later source writes to tell of. */
const lateWrites_ms = 100;
/** The same while the leader waits for its last look: a stream is a few round trips away from its time. */
const lastLook_ms = 20;

/**
 * Syncs this process's shares from where they are until the opening of the destination is decided.
 * @param onSyncs gets the shares' syncs and verifiers as soon as they exist, for progress
 * @param stop ends the work cleanly (pause, end of the process)
 * @param hard ends it at once
 */
export async function syncShares(
  context: MigrationContext,
  owned: readonly ShareRecord[],
  onSyncs: (syncs: readonly ShareSync[], verified: readonly VerifiedShare[]) => void,
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<void> {
  const { watch } = context;
  await watch.until(({ record }) => record.phase !== 'starting' && record.phase !== 'reversing', stop);
  const begun = await readBegunCatalog(context, stop);
  for (const record of owned) await fenceFormerOwner(context, record, stop);
  const journal = await readJournal(context, stop);
  const replaced = endWhenReplaced(owned.map(({ _id }) => _id), context.runtime.logger, hard);
  const syncs = owned.map((record) => shareSync(context, record, begun, journal, owned.length, replaced));
  for (const sync of syncs) await sync.prepare(stop);
  const { commit } = watch.view.record;
  if (commit !== null) for (const sync of syncs) sync.setCeiling(timeOf(commit.time));
  const verified = isVerified(watch.view.record) ? syncs.map((sync, index) => new VerifiedShare(context, sync, owned[index]?.verification ?? null, owned.length, replaced.signal)) : [];
  onSyncs(syncs, verified);
  const done = new AbortController();
  const ending = AbortSignal.any([stop, done.signal]);
  const follow = async (signal: AbortSignal): Promise<void> => {
    await runTogether(signal, syncs.map((sync, index) => (each: AbortSignal) => followCommit(context, sync, owned[index]?.drained ?? null, each, replaced.signal)));
    done.abort();
  };
  const definitions = syncs.map((sync, index) => {
    const follower = new DefinitionFollower(sync, definitionSource(context), { ...journal.position, consented: owned[index]?.consented ?? 0 });
    return (signal: AbortSignal) => follower.run(signal);
  });
  const work = [...syncs.map((sync) => (signal: AbortSignal) => sync.run(signal)), ...definitions, ...verified.map((share) => (signal: AbortSignal) => share.run(signal)), follow];
  await runTogether(ending, work, replaced.onFailure).catch(async (error: unknown) => {
    if (!done.signal.aborted && !(await isOfNoMatter(error, watch, stop))) throw error;
  });
}

/** Once the opening is decided, what a share meets on a source that goes away ends nothing. */
export async function isOfNoMatter(error: unknown, watch: Pick<MigrationContext['watch'], 'refresh'>, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted || (error instanceof ConvoyError && error.error === 'staleEpoch')) return false;
  return isOpeningDecided((await watch.refresh(signal)).record);
}

/** The definition journal as a share's process finds it, after its predecessor can write no more. */
interface FoundJournal {
  done: Definition[];
  undone: Definition[];
  position: Omit<JournalPosition, 'consented'>;
}

async function readJournal({ watch, journal }: MigrationContext, signal: AbortSignal): Promise<FoundJournal> {
  const { record } = await watch.refresh(signal);
  const { known, done } = record.definitions;
  const definitions = await journal.readAfter(0, known, signal);
  return {
    done: definitions.filter(({ ordinal }) => ordinal <= done),
    undone: definitions.filter(({ ordinal }) => ordinal > done),
    position: { read: known, taken: done },
  };
}

function definitionSource({ watch, journal, fleet }: MigrationContext): DefinitionSource {
  return {
    news: () => watch.journalled,
    until: async (condition, signal) => {
      await watch.until(() => condition(watch.journalled), signal);
    },
    readAfter: (ordinal, known, signal) => journal.readAfter(ordinal, known, signal),
    nudge: () => fleet.nudge(),
  };
}

function shareSync(context: MigrationContext, record: ShareRecord, begun: Catalog, journal: FoundJournal, shares: number, replaced: Replacement): ShareSync {
  const { runtime, source, destination, metadata, shareRecords, watch } = context;
  const migration = watch.view.record;
  const calm = new CalmShares(watch, runtime.clock);
  const filter = filterOf(migration);
  if (migration.startTime === null) throw new ConvoyError('internalError', 'The migration has no start time.');
  const { entries, known } = followedCatalog(begun, journal.done);
  const shardId = sourceShardOf(migration, record._id);
  return new ShareSync(
    {
      runtime,
      source,
      destination,
      metadata,
      records: shareRecords,
      record,
      shardId,
      collections: shareCollections(entries, shardId, source, destination),
      known,
      undone: journal.undone,
      startTime: timeOf(migration.startTime),
      beginsCopied: turnsOf(migration) > 0,
      bytesMax: Math.floor(runtime.config.memoryBytesMax / shares),
      includes: (database, name) => filter.includes(database, name),
      shareOf: (followed) => shareCollection(followed, shardId, source, destination),
      onFailure: replaced.onFailure,
      nudge: () => context.fleet.nudge(),
      patience: { isAwaited: () => isStreamAwaited(watch.view), isCalm: () => calm.isCalm() },
      recreate: async (entry, confirm, signal) => {
        const [plan] = planOf(context, [entry]).collections;
        if (plan === undefined) throw new ConvoyError('internalError', 'A capped collection cannot be made anew.');
        await recreateCapped({ destination, retrying: runtime.retrying, confirm }, plan, signal);
      },
    },
    replaced.signal,
  );
}

/** A share that had an owner before: its late writes are refused by the servers from here on. */
async function fenceFormerOwner(context: MigrationContext, record: ShareRecord, signal: AbortSignal): Promise<void> {
  if (record.epoch <= 1) return;
  const { destination, runtime } = context;
  const sessions = record.sessions.map((session) => session.value());
  await new SessionFence(destination, runtime.retrying).stopFormerOwner(sessions, record.epoch, signal);
}

/**
 * Drains every commit round as it comes; afterwards tells of writes that come too late, until the opening is decided.
 * @param before what an earlier process has told: late writes that it has seen are not taken back while they are read again
 */
export async function followCommit(
  context: Pick<MigrationContext, 'watch' | 'fleet' | 'runtime' | 'shareRecords'>,
  sync: Pick<ShareSync, 'shareId' | 'epoch' | 'drain' | 'figures'>,
  before: ShareRecord['drained'],
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<void> {
  const { watch, fleet } = context;
  let drained = 0;
  let told: DrainedRound | null = null;
  const isPassed = ({ record }: MigrationView): boolean => isOpeningDecided(record) || (record.commit?.round ?? 0) > drained;
  for (;;) {
    const view = await watch.until((seen) => isPassed(seen) || drained > 0, stop);
    const { commit } = view.record;
    if (isOpeningDecided(view.record)) return;
    if (commit !== null && commit.round > drained) {
      const isSuperseded = (): boolean => isOpeningDecided(watch.view.record) || (watch.view.record.commit?.round ?? 0) > commit.round;
      if (!(await sync.drain(timeOf(commit.time), isSuperseded, stop))) continue;
      drained = commit.round;
    }
    const found = drainedRound(drained, sync.figures(), before, view.record.lastLook ?? null);
    if (isNews(found, told)) {
      await context.shareRecords.update(sync.shareId, sync.epoch, { drained: found }, hard);
      told = found;
      fleet.nudge();
    }
    const isLookedAt = (view.record.lastLook ?? null) === null || found.lookedTo !== undefined;
    await untilOrFor(context, isPassed, isLookedAt ? lateWrites_ms : lastLook_ms, stop);
  }
}

/** How many writes there are above the commit time does not matter, only that there are. */
function isNews(found: DrainedRound, told: DrainedRound | null): boolean {
  const isLater = told?.round !== found.round || (told.eventsAbove === 0 && found.eventsAbove > 0);
  return isLater || !isDeepStrictEqual([told.deletedIn, told.lookedTo], [found.deletedIn, found.lookedTo]);
}

function drainedRound(round: number, figures: ShareFigures, before: ShareRecord['drained'], lastLook: Timestamp | null): DrainedRound {
  const { writesAboveCeiling, deletedAboveCeiling, readBelow } = figures;
  const same = before?.round === round ? before : null;
  return {
    round,
    eventsAbove: Math.max(writesAboveCeiling, same?.eventsAbove ?? 0),
    deletedIn: [...new Set([...(same?.deletedIn ?? []), ...deletedAboveCeiling])].sort(),
    ...(lastLook !== null && readBelow > timeOf(lastLook) && { lookedTo: lastLook }),
  };
}
