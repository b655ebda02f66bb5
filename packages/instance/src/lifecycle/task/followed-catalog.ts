import type { Binary } from 'mongodb';
import { restoredEntry } from '../../catalog/stored-catalog.js';
import type { Catalog, CatalogEntry } from '../../catalog/namespace.js';
import { timeOf } from '../../cluster/cluster-time.js';
import type { DdlChange } from '../../store/ddl-journal.js';

/** A collection or view of the source, as the migration follows it. */
export interface FollowedEntry {
  entry: CatalogEntry;
  /**
   * Name of its copy. A collection recreated under its UUID is copied again under another name, and stored state of
   * earlier copies does not count.
   */
  copy: string;
  /** Time of the last DDL change that gave it its present name or copy; 0 for none. */
  notBefore: bigint;
}

/** The followed collections after some entries of the journal. */
export interface FollowedCatalog {
  entries: FollowedEntry[];
  /** UUIDs of all collections that are or were in the catalog. */
  known: Set<string>;
}

/** The result of a DDL change. */
export interface DdlResult {
  /** Collections that are no longer followed, or have changed. */
  ended: string[];
  /** A new or recreated collection. */
  started: FollowedEntry | null;
  /** The new namespace of a collection. */
  renamed: { uuid: string; database: string; name: string; notBefore: bigint } | null;
}

/** The result of a done entry of the journal for the followed collections. */
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
 * The catalog that a migration follows: the catalog of its start, with the results of DDL changes.
 * @param done applied entries of the journal, in order
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

/** Everything else about a renamed collection, its task bounds included, stays. */
function renamedEntry(
  followed: FollowedEntry,
  { database, name, notBefore }: NonNullable<DdlResult['renamed']>,
): FollowedEntry {
  return { ...followed, entry: { ...followed.entry, database, name }, notBefore };
}

function restoredOrNull(entry: Binary | null): CatalogEntry | null {
  return entry === null ? null : restoredEntry(entry);
}
