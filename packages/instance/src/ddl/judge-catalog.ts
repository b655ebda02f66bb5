import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { shownName } from '../cluster/time-series.js';
import { optionDifferences } from '../catalog/collection-options.js';
import { type CatalogChange, catalogChanges } from '../catalog/compare-catalogs.js';
import { readCursor } from '../catalog/list-namespaces.js';
import { nameSome } from '../catalog/name-some.js';
import type { NamespaceRemap } from '../catalog/namespace-remap.js';
import { type Catalog, type CatalogEntry } from '../catalog/namespace.js';
import { timestampOf } from '../cluster/cluster-time.js';
import type { ClusterClient } from '../cluster/node-client.js';
import type { NewDdlEntry, UuidPairs } from '../store/ddl-journal.js';
import { creationOf, type DdlLedger, type FollowedCollections, restartOf } from './ddl-ledger.js';

/** Both catalogs, and what was known when they were read. */
export interface ReadCatalogs {
  /** The source's catalog, with requested shard keys. */
  now: Catalog;
  /** The destination's catalog. */
  found: Catalog;
  /** A time after both reads. */
  time: bigint;
  /** Everything known before the read was applied, and nothing new has arrived since. */
  isSettled: boolean;
}

type Judge = (followed: FollowedCollections) => NewDdlEntry | null;

/**
 * Finds what must be added to the journal: new collections, collections that were sharded, capped collections that were
 * enlarged, and collections whose counterpart on the destination is not the recorded one. Drops and renames come from
 * the stream.
 * @param keepsBalancer whether chunks and databases may move between the source's shards
 * @throws ConvoyError as `refuseCatalogChanges` for what cannot be replicated
 */
export function judgeCatalog(
  read: ReadCatalogs,
  ledger: DdlLedger,
  pairs: Pick<UuidPairs, 'destinationOf'>,
  keepsBalancer: boolean,
): Judge[] {
  const { now, found, time, isSettled } = read;
  const changes = catalogChanges([...ledger.collections.values()], now).filter(
    ({ entry }) => entry.type === 'collection',
  );
  refuseCatalogChanges(changes.filter((change) => isRefused(change, ledger, keepsBalancer)));
  const at = timestampOf(time);
  const created = changes
    .filter(({ kind, entry }) => kind === 'created' && !ledger.isChanging(entry.uuid))
    .map(({ entry }) => entry);
  const sharded = changes
    .filter((change) => change.kind === 'shardKey' && !ledger.isChanging(change.entry.uuid))
    .map(({ entry }) => entry.uuid);
  return [
    ...created.map((entry) => judgeCreation(entry, read, ledger)),
    ...sharded.map(
      (uuid): Judge =>
        (followed) =>
          ledger.isUnsharded(uuid) ? restartOf(followed, uuid, at) : null,
    ),
    ...[...(isSettled ? lost(now, found, ledger, pairs) : []), ...enlarged(now, found, ledger, pairs)].map(
      (uuid): Judge =>
        (followed) =>
          ledger.isChanging(uuid) ? null : restartOf(followed, uuid, at),
    ),
  ];
}

/**
 * A creation, unless the journal has overtaken the catalog: what it shows may be gone, and its name given anew. The
 * next comparison shows whether it is there.
 */
function judgeCreation(entry: CatalogEntry, { time, isSettled }: ReadCatalogs, ledger: DdlLedger): Judge {
  return (followed) => {
    const creation = creationOf(followed, entry, timestampOf(time));
    if (creation === null) return null;
    const { uuid, droppedUuid } = creation;
    const isLater = (one: string): boolean => (ledger.journalledTo(one) ?? 0n) > time;
    const isOvertaken = isSettled
      ? isLater(uuid) || (droppedUuid !== null && isLater(droppedUuid))
      : droppedUuid !== null || ledger.journalledTo(uuid) !== null;
    return isOvertaken ? null : creation;
  };
}

/** Collections that both sides should have, without their counterpart on the destination. */
function lost(now: Catalog, found: Catalog, ledger: DdlLedger, pairs: Pick<UuidPairs, 'destinationOf'>): string[] {
  const present = new Set(found.map(({ uuid }) => uuid));
  // The copy recreates capped collections.
  const followed = now.filter(
    ({ uuid, type, options }) => type === 'collection' && options.capped !== true && ledger.collections.has(uuid),
  );
  return followed.map(({ uuid }) => uuid).filter((uuid) => !present.has(pairs.destinationOf(uuid) ?? ''));
}

/**
 * Capped collections whose limits on the destination are lower than on the source: it may have removed documents that
 * the source still has.
 */
function enlarged(now: Catalog, found: Catalog, ledger: DdlLedger, pairs: Pick<UuidPairs, 'destinationOf'>): string[] {
  const present = new Map(found.map((entry) => [entry.uuid, entry]));
  return now
    .filter(({ options, uuid }) => options.capped === true && ledger.collections.has(uuid))
    .filter((entry) => {
      const there = present.get(pairs.destinationOf(entry.uuid) ?? '');
      return there !== undefined && optionDifferences(entry, there, 'temporary').some(isLowerIn(there, entry));
    })
    .map(({ uuid }) => uuid);
}

/** Whether the first of two collections has the lower limit of a name. Zero means none, as does an absent one. */
function isLowerIn(one: CatalogEntry, other: CatalogEntry): (name: string) => boolean {
  const limit = ({ options }: CatalogEntry, name: string): number => Number(options[name] ?? 0) || Infinity;
  return (name) => ['size', 'max'].includes(name) && limit(one, name) < limit(other, name);
}

/**
 * A collection that was sharded is recreated and copied. One with another shard key, or whose documents moved, cannot
 * be replicated, unless routers find them: `movePrimary` gives unsharded collections new UUIDs. One that is no longer
 * sharded is being dropped: servers remove its shard key first. From 8.0 on,
 * unsharding in place is reported as a new shard key.
 */
function isRefused(change: CatalogChange, ledger: DdlLedger, keepsBalancer: boolean): boolean {
  if (change.kind === 'chunksMoved' || change.kind === 'primaryShard')
    return !(keepsBalancer && change.entry.sharding !== null) && !ledger.isChanging(change.entry.uuid);
  return change.kind === 'shardKey' && change.before.sharding !== null && change.entry.sharding !== null;
}

/**
 * Refuses what Convoy cannot replicate: chunks that have moved, another primary shard, another shard key.
 * @param changes of these kinds
 * @throws ConvoyError `chunkMigrationSeen`, `primaryShardChanged` or `shardKeyChanged`
 */
export function refuseCatalogChanges(changes: readonly CatalogChange[]): void {
  const first = changes[0];
  if (first === undefined) return;
  const named = nameSome(changes.map((change) => `${change.kind} ${shownName(change.entry)}`));
  const found = `The source's catalog has changed since the start: ${named}.`;
  if (changes.some((change) => change.kind === 'chunksMoved')) {
    throw new ConvoyError('chunkMigrationSeen', `${found} Stop every balancer and start anew.`);
  }
  if (changes.some((change) => change.kind === 'primaryShard'))
    throw new ConvoyError('primaryShardChanged', `${found} Start anew.`);
  throw new ConvoyError('shardKeyChanged', `${found} Start anew.`);
}

/** Where a database stores the functions of its users. */
const functionsCollection = 'system.js';

/**
 * Compares the functions of both sides once all sync tasks have drained. Before 6.0 change streams do not
 * show `system.*` collections, so changes to `system.js` after its copy are missing. Functions are few and small.
 * @throws ConvoyError `ddlNotSupported` naming the databases whose functions differ; otherwise what the clients throw
 */
export async function refuseFunctionChanges(
  source: ClusterClient,
  destination: ClusterClient,
  catalog: Catalog,
  remap: NamespaceRemap,
  signal: AbortSignal,
): Promise<void> {
  const changed: string[] = [];
  for (const { database, name } of catalog) {
    if (name !== functionsCollection) continue;
    const [wanted, found] = await Promise.all([
      readFunctions(source, database, signal),
      readFunctions(destination, remap.toDestination({ database, name }).database, signal),
    ]);
    if (wanted.join() !== found.join()) changed.push(database);
  }
  if (changed.length === 0) return;
  throw new ConvoyError(
    'ddlNotSupported',
    `Functions in system.js were changed after Convoy copied them: ${changed.join(', ')}. Change streams do not ` +
      'show such changes before 6.0. Start anew, or exclude system.js and copy it by hand.',
  );
}

/** All functions in order of `_id`, each as the text of its bytes. */
async function readFunctions(cluster: ClusterClient, database: string, signal: AbortSignal): Promise<string[]> {
  const command = { find: functionsCollection, sort: { _id: 1 }, readConcern: { level: 'majority' } };
  return readCursor(cluster.router, database, command, (bytes) => Buffer.from(bytes).toString('base64'), signal);
}
