import type { Retrying } from '../async/retry.js';
import { listCollections } from '../catalog/list-namespaces.js';
import type { NamespaceFilter } from '../catalog/namespace-filter.js';
import { readCollectionByUuid } from '../catalog/read-catalog.js';
import { isShardedAs, isUnsplittable } from '../catalog/read-sharding.js';
import { timeAboveAll, timestampOf } from '../cluster/cluster-time.js';
import type { ClusterClient } from '../cluster/node-client.js';
import type { NewDdlEntry } from '../store/ddl-journal.js';
import {
  absenceOf,
  creationOf,
  type DdlLedger,
  type FollowedCollection,
  type FollowedCollections,
} from './ddl-ledger.js';
import type { DdlWatcher } from './ddl-watcher.js';

/** Dependencies of taking in unknown collections. */
interface UnknownDependencies {
  ledger: Pick<DdlLedger, 'journalledTo'>;
  filter: Pick<NamespaceFilter, 'includes'>;
  source: Pick<SourceNames, 'namesOf' | 'timeAboveAll'>;
  watcher: Pick<DdlWatcher, 'untilKnown'>;
  /** Adds a change to the journal, judged against what is followed at that point. */
  add: DdlLedger['add'];
}

/**
 * Adds unknown collections to the journal for which sync tasks have seen changes: before 6.0 streams show no creations.
 * Collections that replace others are added once they have replaced them. The entry includes everything up to its time.
 * So a collection needs a name that it had before that time and still has once all changes up to it are known. If it is
 * renamed in the meantime, it is checked again.
 */
export async function takeUnknown(
  deps: UnknownDependencies,
  unknown: readonly FollowedCollection[],
  signal: AbortSignal,
): Promise<void> {
  const strangers = unknown.filter(({ uuid }) => deps.ledger.journalledTo(uuid) === null);
  if (strangers.length === 0) return;
  const before = await presentNames(deps, strangers, signal);
  const time = await deps.source.timeAboveAll(signal);
  await deps.watcher.untilKnown(time, signal);
  const after = await presentNames(deps, strangers, signal);
  for (const { uuid, database, name } of strangers) {
    const present = before.get(uuid);
    if (present !== after.get(uuid)) continue;
    await deps.add(
      (followed) => judge(deps, followed, { uuid, database, name: present ?? name }, present !== undefined, time),
      signal,
    );
  }
}

/** Replacement collections that have arrived: the source's catalog shows them, and they are not followed yet. */
export async function arrivedOf(
  deps: Pick<UnknownDependencies, 'ledger' | 'source'>,
  arriving: Iterable<FollowedCollection>,
  signal: AbortSignal,
): Promise<FollowedCollection[]> {
  const awaited = [...arriving].filter(({ uuid }) => deps.ledger.journalledTo(uuid) === null);
  const present = await presentNames(deps, awaited, signal);
  return awaited.filter(({ uuid }) => present.has(uuid));
}

async function presentNames(
  deps: Pick<UnknownDependencies, 'source'>,
  strangers: readonly FollowedCollection[],
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const database of new Set(strangers.map((stranger) => stranger.database))) {
    for (const [uuid, name] of await deps.source.namesOf(database, signal)) names.set(uuid, name);
  }
  return names;
}

function judge(
  { ledger, filter }: UnknownDependencies,
  followed: FollowedCollections,
  collection: FollowedCollection,
  isThere: boolean,
  time: bigint,
): NewDdlEntry | null {
  const { uuid, database, name } = collection;
  if (ledger.journalledTo(uuid) !== null) return null;
  // A collection that is gone takes no name from the one that has it now.
  if (!isThere || !filter.includes(database, name)) return absenceOf(followed, collection, timestampOf(time));
  const bearer = followed.at(database, name);
  // A collection that got the name after that time has it now.
  if (bearer !== undefined && (ledger.journalledTo(bearer.uuid) ?? 0n) > time) return null;
  return creationOf(followed, collection, timestampOf(time));
}

/** The names that the source's collections have now, and the source's time, for changes that streams show in part. */
export class SourceNames {
  constructor(
    private readonly source: ClusterClient,
    private readonly retrying: Retrying,
  ) {}

  /** Whether the catalog no longer shows a collection under a name. */
  async hasLeft({ database, name, uuid }: FollowedCollection, signal: AbortSignal): Promise<boolean> {
    const found = await this.retrying(
      'read a collection of the source',
      () => readCollectionByUuid(this.source, database, uuid, signal),
      signal,
    );
    if (found?.name === name) return false;
    return !(await this.retrying(
      'read a sharded collection of the source',
      () => isShardedAs(this.source, `${database}.${name}`, uuid, signal),
      signal,
    ));
  }

  /** Names of the collections that a database has now, by UUID. */
  async namesOf(database: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const listed = await this.retrying(
      'list collections of the source',
      () => listCollections(this.source.router, database, signal),
      signal,
    );
    return new Map(listed.map(({ uuid, name }) => [uuid, name]));
  }

  /** Whether the cluster lists the collection with a UUID as one that is not sharded (8.0). */
  isUnsharded(uuid: string, signal: AbortSignal): Promise<boolean> {
    return this.retrying(
      'read a moved collection of the source',
      () => isUnsplittable(this.source, uuid, signal),
      signal,
    );
  }

  /** A cluster time above everything done on the source so far. */
  timeAboveAll(signal: AbortSignal): Promise<bigint> {
    return this.retrying('take a time of the source', () => timeAboveAll(this.source, { signal }), signal);
  }
}
