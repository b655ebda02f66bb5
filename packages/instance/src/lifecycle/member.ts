import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CatalogEntry } from '../catalog/namespace.js';
import { createCollection } from '../catalog/create-collection.js';
import { timeOf } from '../cluster/cluster-time.js';
import { refuseDefinition, refuseNewCollection } from '../ddl/definition-guard.js';
import { fenceSessions } from '../store/fence.js';
import { metadataDatabase } from '../store/metadata.js';
import { runTogether } from '../store/run-together.js';
import type { ShareRecord } from '../store/share-record.js';
import { planOf } from './initialise.js';
import { filterOf, type MigrationContext, readBegunCatalog } from './migration-context.js';
import { shareCollections } from './share-collections.js';
import { ShareSync } from './share-sync.js';

/** How often a share that waits for the end of the commit tells of later source writes. */
const lateWrites_ms = 500;

/**
 * Syncs this process's shares from where they are until the migration is committed.
 * @param onSyncs gets the shares' syncs as soon as they exist, for progress
 * @param stop ends the work cleanly (pause, end of the process)
 * @param hard ends it at once
 */
export async function syncShares(
  context: MigrationContext,
  owned: readonly ShareRecord[],
  onSyncs: (syncs: readonly ShareSync[]) => void,
  stop: AbortSignal,
  hard: AbortSignal,
): Promise<void> {
  const { watch } = context;
  await watch.until((view) => view.record.phase !== 'starting', stop);
  const catalog = await readBegunCatalog(context, stop);
  const syncs = owned.map((record) => shareSync(context, record, catalog, owned.length, hard));
  for (const record of owned) await fenceFormerOwner(context, record, stop);
  for (const sync of syncs) await sync.prepare(stop);
  const { commit } = watch.view.record;
  if (commit !== null) for (const sync of syncs) sync.setCeiling(timeOf(commit.time));
  onSyncs(syncs);
  const done = new AbortController();
  const ending = AbortSignal.any([stop, done.signal]);
  const follow = async (signal: AbortSignal): Promise<void> => {
    await runTogether(signal, syncs.map((sync) => (each: AbortSignal) => followCommit(context, sync, each, hard)));
    done.abort();
  };
  await runTogether(ending, [...syncs.map((sync) => (signal: AbortSignal) => sync.run(signal)), follow]).catch((error: unknown) => {
    if (!done.signal.aborted) throw error;
  });
}

function shareSync(context: MigrationContext, record: ShareRecord, catalog: CatalogEntry[], shares: number, hard: AbortSignal): ShareSync {
  const { runtime, source, destination, metadata, shareRecords, watch } = context;
  const migration = watch.view.record;
  const filter = filterOf(migration);
  const known = new Set(catalog.map((entry) => entry.uuid));
  if (migration.startTime === null) throw new ConvoyError('internalError', 'The migration has no start time.');
  return new ShareSync(
    {
      runtime,
      source,
      destination,
      metadata,
      records: shareRecords,
      record,
      collections: shareCollections(catalog, record._id, source, destination),
      startTime: timeOf(migration.startTime),
      bytesMax: Math.floor(runtime.config.memoryBytesMax / shares),
      onDefinition: (event) => refuseDefinition(event, filter),
      // A shard that owns nothing of a collection may still show changes of its orphans.
      onUnknownCollection: (database, name, uuid) => {
        if (!known.has(uuid)) refuseNewCollection(database, name);
      },
      includes: (database, name) => filter.includes(database, name),
      recreate: (uuid, signal) => recreate(context, catalog, uuid, signal),
    },
    hard,
  );
}

/** A share that had an owner before: its late writes are refused by the servers from here on. */
async function fenceFormerOwner(context: MigrationContext, record: ShareRecord, signal: AbortSignal): Promise<void> {
  if (record.epoch <= 1) return;
  const { destination, runtime } = context;
  const sessions = record.sessions.map((session) => session.value());
  const fenceIds = destination.shardIds.map((_, index) => index);
  await fenceSessions(destination.router, runtime.retrying, sessions, record.epoch, fenceIds, signal);
}

/** Drains every commit round as it comes; afterwards tells of writes that come too late, until the migration is committed. */
async function followCommit(context: MigrationContext, sync: ShareSync, stop: AbortSignal, hard: AbortSignal): Promise<void> {
  const { watch, fleet, runtime } = context;
  let drained = 0;
  for (;;) {
    const view = await watch.until(({ record }) => record.phase === 'committed' || (record.commit?.round ?? 0) > drained || drained > 0, stop);
    const { commit, phase } = view.record;
    if (phase === 'committed') return;
    if (commit !== null && commit.round > drained) {
      await sync.drain(timeOf(commit.time), stop);
      drained = commit.round;
    }
    const eventsAbove = sync.figures().writesAboveCeiling;
    await context.shareRecords.update(sync.shareId, sync.epoch, { drained: { round: drained, eventsAbove } }, hard);
    fleet.nudge();
    await runtime.clock.sleep(lateWrites_ms, stop);
  }
}

/** An empty capped collection in place of one that was partly copied: documents cannot be deleted from it. */
async function recreate(context: MigrationContext, catalog: CatalogEntry[], uuid: string, signal: AbortSignal): Promise<void> {
  const { destination, runtime } = context;
  const plan = planOf(context, catalog).collections.find((one) => one.entry.uuid === uuid);
  if (plan === undefined) throw new ConvoyError('internalError', `${metadataDatabase} has no collection of this UUID.`);
  const drop = { drop: plan.entry.name, writeConcern: { w: 'majority' } };
  await runtime.retrying('empty a capped collection', () => dropped(destination.router.command(plan.entry.database, drop, { signal })), signal);
  await runtime.retrying('make a capped collection', () => createCollection(destination, plan, signal), signal);
}

/** NamespaceNotFound: an earlier attempt has dropped it already. */
async function dropped(call: Promise<unknown>): Promise<void> {
  const namespaceNotFound = 26;
  try {
    await call;
  } catch (error) {
    if ((error as { code?: unknown }).code !== namespaceNotFound) throw error;
  }
}
