import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { seriesOf, shownName } from '../../cluster/time-series.js';
import { within } from '../../async/clock.js';
import { restoredEntry, storedEntry } from '../../catalog/catalog-bytes.js';
import { BuildsUnderWay } from '../../catalog/index-builds.js';
import { shownByMoves } from '../../apply/events-ahead.js';
import { type Catalog, namespaceOf } from '../../catalog/namespace.js';
import { openChangeStream, tokenTime } from '../../cluster/change-stream.js';
import { timeAboveAll, timeOf, timestampOf, wakeStreams } from '../../cluster/cluster-time.js';
import { causeText } from '../../cluster/connection-failure.js';
import { classify, codeOf } from '../../cluster/failure.js';
import type { ClusterClient, RawCursor } from '../../cluster/node-client.js';
import { historyLost } from '../../cluster/oplog-window.js';
import { type DdlEvent, parseDdlEvent } from '../../ddl/ddl-watcher.js';
import { type UuidPair, UuidPairs } from '../../store/ddl-journal.js';
import type { MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import { swapped, swapsOf } from '../../store/reversal.js';
import { clearDirection, readStoredEntries, storeEntries } from '../../store/task-storage.js';
import { cleanedUp, requireReversible, requireShards } from '../migration/clusters.js';
import { movedCatalog, readCommittedCatalog } from '../migration/migration-catalogs.js';
import { filterOf, type LeaderDependencies, type MigrationDependencies } from '../migration/migration-dependencies.js';
import { allTasks, isReverseRequested, type MigrationView } from '../../store/migration-view.js';
import type { Runtime } from '../migration/runtime.js';
import { stepDone } from '../migration/steps.js';
import { applyWriteBlock } from '../migration/write-blocks.js';
import { shardsOf } from './followed-source.js';
import { withTaskBounds } from './initialise.js';
import { leadershipInterval_ms, leadUnlessDeposed } from './lead.js';

/**
 * Waits until every task of a committed migration has taken the command to reverse; the leader then swaps the clusters.
 * Resolves once they are swapped.
 */
export async function swapWhenRequested(deps: MigrationDependencies, signal: AbortSignal): Promise<void> {
  const { watch, fleet, runtime } = deps;
  const turns = swapsOf(watch.view.record);
  const isSwapped = ({ record }: MigrationView) => swapsOf(record) > turns;
  await watch.until(
    (view) => isSwapped(view) || allTasks(view, (task) => isReverseRequested(view.record, task)),
    signal,
  );
  while (!isSwapped(watch.view)) {
    if (fleet.isLeader())
      await leadUnlessDeposed(
        deps,
        (leaderEpoch) => swapAsLeader({ ...deps, leaderEpoch, builds: new BuildsUnderWay(runtime.clock) }, signal),
        signal,
      );
    else await runtime.clock.sleep(leadershipInterval_ms, signal);
    await watch.refresh(signal);
  }
}

/**
 * Writes everything of the new direction before the one conditional write that swaps the clusters. Until then the
 * migration stays committed, and the preparation can be repeated. Since the command, users may have written to the
 * former source: processes may have ended, and an operator may have allowed writes there.
 * @throws ConvoyError as `checkReverse`
 */
async function swapAsLeader(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, source, destination, records, watch, metadata, fleet, leaderEpoch } = deps;
  stepDone('reverseStarted');
  const { record, tasks } = await watch.refresh(signal);
  if (record.phase !== 'committed' || !record.reversal) return;
  const reversal = requireReversible(record);
  const [committed, opened] = [await readCommittedCatalog(deps, signal), await readOpenedCatalog(deps, signal)];
  // A process that has just started connects to it only now.
  const answer = () => source.router.command('admin', { ping: 1 }, { signal });
  await runtime.retrying('reach the former source', answer, signal);
  const check = { runtime, records, former: source, next: destination, record, signal };
  await checkReverse({ ...check, committed: () => Promise.resolve(committed) });
  // Databases and collections that moved since have other UUIDs.
  const moved = source.kind === 'sharded' ? await movedCatalog(deps, record, committed, signal) : null;
  await storeEntries(
    metadata,
    leaderEpoch,
    (await withTaskBounds(deps, 'destination', opened, signal)).map(storedEntry),
    signal,
  );
  stepDone('reverseCatalogStored');
  await clearDirection(
    metadata,
    leaderEpoch,
    new Map([...tasks.values()].map(({ _id, epoch }) => [_id, epoch])),
    signal,
  );
  const pairs = await UuidPairs.read(metadata, leaderEpoch, signal);
  await pairs.record(reversedPairs(moved ?? committed, opened), signal);
  stepDone('formerDirectionCleared');
  await records.turnAsLeader(leaderEpoch, reversal.turns, swapped(record, reversal, leaderEpoch), signal);
  stepDone('clustersSwapped');
  fleet.wake();
}

/** Both catalogs were compared before the destination opened: a name means the same collection in both. */
function reversedPairs(committed: Catalog, opened: Catalog): UuidPair[] {
  const former = new Map(committed.map((entry) => [namespaceOf(entry), entry.uuid]));
  return opened.flatMap((entry) => {
    const destinationUuid = former.get(namespaceOf(entry)) ?? '';
    return entry.uuid === '' || destinationUuid === '' ? [] : [{ sourceUuid: entry.uuid, destinationUuid }];
  });
}

/** The destination's catalog right before it opened to users. */
async function readOpenedCatalog({ metadata, watch }: MigrationDependencies, signal: AbortSignal): Promise<Catalog> {
  const epoch = watch.view.record.reversal?.openedCatalogEpoch ?? null;
  if (epoch === null)
    throw new ConvoyError('internalError', "The destination's catalog at its opening is not recorded.");
  return (await readStoredEntries(metadata, epoch, signal, 'openedCollections')).map(restoredEntry);
}

/** Batch size of the former source's changes; there should be none. */
const batchDocumentsMax = 100;
/** How long a server waits for changes before it answers with its position. */
const awaitData_ms = 200;
/** Without oplog notes, streams advance with the servers' periodic no-ops, every 10 s by default. */
const lookWithin_ms = 60_000;
/** The former source answers within this time, or counts as unreachable. */
const answer_ms = 12_000;
/** Of an event: who and where, without its documents. */
const withoutDocuments = { $project: { operationType: 1, clusterTime: 1, collectionUUID: 1, ns: 1, to: 1 } };
/** Changes of documents, and of which collections there are. */
const dataAndCollections = [
  {
    $match: {
      operationType: { $in: ['insert', 'update', 'replace', 'delete', 'create', 'drop', 'rename', 'dropDatabase'] },
    },
  },
  withoutDocuments,
];

/**
 * The same of time series. A stream that shows their buckets also shows what moves of chunks create, of all
 * collections: so creations are left out, and time series have a stream of their own.
 */
const dataInBuckets = [
  {
    $match: {
      operationType: { $in: ['insert', 'update', 'replace', 'delete', 'drop', 'rename'] },
      $or: ['ns.coll', 'to.coll'].map((place) => ({ [place]: /^system\.buckets\./ })),
    },
  },
  withoutDocuments,
];

/**
 * The record of a migration that is about to be reversed.
 * @throws ConvoyError `notReversible`
 */
export async function readReversible(
  run: { refresh(signal: AbortSignal): Promise<MigrationView> },
  signal: AbortSignal,
): Promise<MigrationRecord> {
  const { record } = await run.refresh(signal).catch((error: unknown) => {
    throw isConvoyError(error, 'destinationChanged') ? cleanedUp() : error;
  });
  requireReversible(record);
  return record;
}

/**
 * Fails at once when the source does not answer: a committed migration no longer needs it, so it may be gone, and an
 * operator waits.
 * @throws ConvoyError `sourceUnavailable`; `wrongCluster` when the name now leads to another cluster
 */
export async function requireAnswer({ clock }: Runtime, former: ClusterClient, signal: AbortSignal): Promise<void> {
  const clients = former.access === 'direct' ? former.shardIds.map((id) => former.shard(id)) : [];
  const ask = (each: AbortSignal) =>
    Promise.all([former.router, ...clients].map((client) => client.command('admin', { ping: 1 }, { signal: each })));
  try {
    await within(answer_ms, clock, ask, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConvoyError || codeOf(error) !== null) throw error;
    throw new ConvoyError(
      'sourceUnavailable',
      `${former.name} cannot be reached: ${causeText(error)}, so the migration cannot be reversed now. ` +
        'Bring it back and send reverse again; nothing has changed.',
      { cause: error },
    );
  }
}

/** The clusters of a reverse, and the migration's record. */
export interface ReverseCheck {
  runtime: Runtime;
  records: MigrationRecords;
  /** The present source, which nobody may have written to since the commit. */
  former: ClusterClient;
  /** The present destination, opened as a source. */
  next: ClusterClient;
  record: MigrationRecord;
  /** The source's catalog at the commit. */
  committed: () => Promise<Catalog>;
  signal: AbortSignal;
}

/**
 * Checks that a committed migration can be reversed now: the changes since the opening are still there, and the former
 * source is unchanged, as are the shards of both. It blocks user writes there, in case an operator has allowed them
 * meanwhile.
 * @throws ConvoyError `notReversible`, `reverseHistoryLost`, `sourceChangedSinceCommit`,
 *   `reversibleNeedsEqualShardCounts`
 */
export async function checkReverse(check: ReverseCheck): Promise<void> {
  const { runtime, records, former, next, record, signal } = check;
  const { openedAt, sourceShards, destinationShards } = requireReversible(record);
  if (openedAt === null || record.commit === null)
    throw new ConvoyError(
      'notReversible',
      'The opening time of the destination is not recorded, so the migration cannot be reversed.',
    );
  if (former.version[0] !== next.version[0] && (await check.committed()).some(({ name }) => seriesOf(name) !== null))
    throw new ConvoyError(
      'notReversible',
      `${next.name} is of a newer release, and may have written buckets of time series that ${former.name} does not ` +
        'know.',
    );
  requireShards(former.name, sourceShards, await shardsOf(runtime, former, signal));
  requireShards(next.name, destinationShards, await shardsOf(runtime, next, signal));
  await runtime.retrying(
    'look for the history of the destination',
    () => requireHistory(next, timeOf(openedAt), signal),
    signal,
  );
  const look = (since: bigint) => runtime.retrying('look for late writes', () => lookForWrites(check, since), signal);
  const quietUpTo = await look(timeOf(record.commit.time) + 1n);
  await applyWriteBlock({ runtime, records, source: former, destination: next }, 'source', signal);
  await look(quietUpTo);
}

function requireHistory(next: ClusterClient, openedAt: bigint, signal: AbortSignal): Promise<void> {
  const options = { batchDocumentsMax: 1, signal };
  const lost = 'What was written since the commit is no longer known';
  return readFrom(next, openedAt, options, lost, async (cursor) => {
    await cursor.next({ signal, maxTime_ms: 1 });
  });
}

/** @returns a time up to which nothing was written */
async function lookForWrites(check: ReverseCheck, since: bigint): Promise<bigint> {
  const { former, signal } = check;
  const end = await timeAboveAll(former, { signal });
  if (since > end) return since;
  const options = { batchDocumentsMax, signal, pipeline: dataAndCollections };
  const lost = `The oplog of ${former.name} no longer shows whether users wrote to it since the commit`;
  await readFrom(former, since, options, lost, (cursor) => refuseWritesUpTo(end, check, cursor));
  if ((await check.committed()).some(({ name }) => seriesOf(name) !== null)) {
    const ofBuckets = { ...options, pipeline: dataInBuckets, timeSeries: true };
    await readFrom(former, since, ofBuckets, lost, (cursor) => refuseWritesUpTo(end, check, cursor));
  }
  return end;
}

/** @throws ConvoyError `reverseHistoryLost` with what is `lost` where the oplog does not reach back to the time */
async function readFrom(
  cluster: ClusterClient,
  time: bigint,
  options: Pick<Parameters<typeof openChangeStream>[1], 'batchDocumentsMax' | 'signal' | 'pipeline' | 'timeSeries'>,
  lost: string,
  read: (cursor: RawCursor) => Promise<void>,
): Promise<void> {
  const { router, version } = cluster;
  try {
    const cursor = await openChangeStream(router, {
      ...options,
      startAtOperationTime: timestampOf(time),
      allChangesForCluster: true,
      version,
    });
    try {
      await read(cursor);
    } finally {
      await cursor.close();
    }
  } catch (error) {
    if (classify(error) !== 'historyLost') throw error;
    const clients = cluster.access === 'direct' ? cluster.shardIds.map((id) => cluster.shard(id)) : [];
    const { errorDescription } = await historyLost(clients, time, options.signal);
    throw new ConvoyError('reverseHistoryLost', `${lost}. ${errorDescription}`);
  }
}

async function refuseWritesUpTo(end: bigint, check: ReverseCheck, cursor: RawCursor): Promise<void> {
  const { former, record, signal } = check;
  const filter = filterOf(record);
  /** The first of what a database or a collection that moves may show, too. */
  let definition: DdlEvent | null = null;
  const within = AbortSignal.any([signal, AbortSignal.timeout(lookWithin_ms)]);
  for (let batch = cursor.first; ; batch = await cursor.next({ signal: within, maxTime_ms: awaitData_ms })) {
    for (const found of batch.documents.map(parseDdlEvent)) {
      const { database, name, to, operation } = found;
      if (!filter.includes(database, name) && (to === null || !filter.includes(to.database, to.name))) continue;
      if (former.kind === 'replicaSet' || !shownByMoves.has(operation)) throw writtenTo(former, found);
      definition ??= found;
    }
    if (batch.resumeToken !== undefined && tokenTime(batch.resumeToken) > end) break;
    await wakeStreams(former, { signal: within });
  }
  if (definition === null) return;
  const clusters = { runtime: check.runtime, source: former, destination: check.next };
  const moved = await movedCatalog(clusters, record, await check.committed(), signal);
  if (moved === null) throw writtenTo(former, definition);
}

function writtenTo(former: ClusterClient, { operation, database, name }: DdlEvent): ConvoyError {
  const namespace = name === '' ? database : shownName({ database, name });
  return new ConvoyError(
    'sourceChangedSinceCommit',
    `${former.name} was written to since the commit (${operation} in ${namespace}), so a reverse ` +
      'would not make the clusters equal. Save those writes by other means, and start a new migration.',
  );
}
