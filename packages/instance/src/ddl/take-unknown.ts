import { timestampOf } from '../cluster/cluster-time.js';
import type { NamespaceFilter } from '../catalog/namespace-filter.js';
import type { FoundDdlChange } from '../store/ddl-journal.js';
import type { DdlLedger } from './ddl-ledger.js';
import { absenceOf, creationOf, type FollowedCollection, type FollowedCollections } from './followed-collections.js';

/** What the taking of unknown collections asks of those around it. */
export interface UnknownDependencies {
  ledger: Pick<DdlLedger, 'journalledTo'>;
  filter: Pick<NamespaceFilter, 'includes'>;
  /** Names of the collections that a database of the source has now, by UUID. */
  namesOf(database: string, signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** A time above everything that was done on the source before. */
  timeAboveAll(signal: AbortSignal): Promise<bigint>;
  /** Resolves once all changes up to a time are in the journal. */
  untilKnown(time: bigint, signal: AbortSignal): Promise<void>;
  /** Adds a change to the journal, judged by what is followed just then. */
  add(judge: (followed: FollowedCollections) => FoundDdlChange | null, signal: AbortSignal): Promise<void>;
}

/**
 * Enters collections into the journal that shares have seen changes of and nobody knows: before 6.0 streams show no
 * creations. So come those that take the place of others, once they have. The entry includes everything up to its time, so a collection is taken only under a name that it had before
 * that time and still has when all changes up to it are known: one that is renamed meanwhile is looked at again.
 */
export async function takeUnknown(
  deps: UnknownDependencies,
  unknown: readonly FollowedCollection[],
  signal: AbortSignal,
): Promise<void> {
  const strangers = unknown.filter(({ uuid }) => deps.ledger.journalledTo(uuid) === null);
  if (strangers.length === 0) return;
  const before = await presentNames(deps, strangers, signal);
  const time = await deps.timeAboveAll(signal);
  await deps.untilKnown(time, signal);
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

/** Those of the collections on their way that have come: the source's catalog shows them, and nobody knows them yet. */
export async function arrivedOf(
  deps: Pick<UnknownDependencies, 'ledger' | 'namesOf'>,
  arriving: Iterable<FollowedCollection>,
  signal: AbortSignal,
): Promise<FollowedCollection[]> {
  const awaited = [...arriving].filter(({ uuid }) => deps.ledger.journalledTo(uuid) === null);
  const present = await presentNames(deps, awaited, signal);
  return awaited.filter(({ uuid }) => present.has(uuid));
}

async function presentNames(
  deps: Pick<UnknownDependencies, 'namesOf'>,
  strangers: readonly FollowedCollection[],
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  for (const database of new Set(strangers.map((stranger) => stranger.database))) {
    for (const [uuid, name] of await deps.namesOf(database, signal)) names.set(uuid, name);
  }
  return names;
}

function judge(
  { ledger, filter }: UnknownDependencies,
  followed: FollowedCollections,
  collection: FollowedCollection,
  isThere: boolean,
  time: bigint,
): FoundDdlChange | null {
  const { uuid, database, name } = collection;
  if (ledger.journalledTo(uuid) !== null) return null;
  // One that is gone takes no name from whoever bears it by now.
  if (!isThere || !filter.includes(database, name)) return absenceOf(followed, collection, timestampOf(time));
  const bearer = followed.at(database, name);
  // Who got the name after the time bears it by now.
  if (bearer !== undefined && (ledger.journalledTo(bearer.uuid) ?? 0n) > time) return null;
  return creationOf(followed, collection, timestampOf(time));
}
