import type { Binary } from 'mongodb';
import { restoredEntry } from '../../catalog/stored-catalog.js';
import type { Catalog, CatalogEntry } from '../../catalog/namespace.js';
import { timeOf } from '../../cluster/cluster-time.js';
import type { DdlChange } from '../../store/ddl-journal.js';

/** A collection or view of the source as the migration follows it. */
export interface FollowedEntry {
  entry: CatalogEntry;
  /** Name of its copy: a collection that is made anew under its UUID is copied anew, and what is stored of earlier copies does not count. */
  copy: string;
  /** Time of the last definition change that its present name or copy comes from; 0 when there was none. */
  notBefore: bigint;
}

/** What is followed after some entries of the journal. */
export interface FollowedCatalog {
  entries: FollowedEntry[];
  /** UUIDs of all collections that are or were in the catalog. */
  known: Set<string>;
}

/** What came of a definition change. */
export interface DdlResult {
  /** Collections that are no longer followed, or not as they were. */
  ended: string[];
  /** A collection that is new, or made anew. */
  started: FollowedEntry | null;
  /** The new namespace of a collection. */
  renamed: { uuid: string; database: string; name: string; notBefore: bigint } | null;
}

/** What a done entry of the journal means for those who follow the collections. */
export function resultOf(ddlChange: DdlChange): DdlResult {
  const { operation, uuid, droppedUuid, ordinal } = ddlChange;
  const notBefore = timeOf(ddlChange.time);
  const entry = operation === 'drop' ? null : restoredOrNull(ddlChange.entry);
  const replaced = droppedUuid === null ? [] : [droppedUuid];
  if (entry === null) return { ended: [...replaced, uuid], started: null, renamed: null };
  if (operation === 'rename') {
    const { database, name } = entry;
    return { ended: replaced, started: null, renamed: { uuid, database, name, notBefore } };
  }
  return { ended: [...replaced, uuid], started: { entry, copy: `${uuid}.${ordinal}`, notBefore }, renamed: null };
}

/**
 * The catalog that a migration follows: as it was when the migration began, with the results of definition changes.
 * @param done entries of the journal that are applied, in order
 */
export function followedCatalog(started: Catalog, done: readonly DdlChange[]): FollowedCatalog {
  const known = new Set(started.flatMap(({ uuid }) => (uuid === '' ? [] : uuid)));
  let entries: FollowedEntry[] = started.map((entry) => ({ entry, copy: entry.uuid, notBefore: 0n }));
  for (const ddlChange of done) {
    const { ended, started: next, renamed } = resultOf(ddlChange);
    known.add(ddlChange.uuid);
    entries = entries
      .filter(({ entry }) => !ended.includes(entry.uuid))
      .map((one) => (one.entry.uuid === renamed?.uuid ? renamedEntry(one, renamed) : one));
    if (next !== null) entries.push(next);
  }
  return { entries, known };
}

/** What else the catalog said of a renamed collection, its shares' bounds included, stays as it was. */
function renamedEntry(
  followed: FollowedEntry,
  { database, name, notBefore }: NonNullable<DdlResult['renamed']>,
): FollowedEntry {
  return { ...followed, entry: { ...followed.entry, database, name }, notBefore };
}

function restoredOrNull(entry: Binary | null): CatalogEntry | null {
  return entry === null ? null : restoredEntry(entry);
}
