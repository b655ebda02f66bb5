import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { distributeChunks } from '../catalog/distribution.js';
import { shardingOn } from '../catalog/index-plan.js';
import { nameSome } from '../catalog/name-some.js';
import type { Catalog, CatalogEntry } from '../catalog/namespace.js';
import { canBeZones } from '../catalog/place-chunks.js';
import { timeOfShardKey } from '../catalog/time-series.js';
import type { ClusterClient, Namespace } from '../cluster/node-client.js';
import { seriesOf, seriesRelease, shownName } from '../cluster/time-series.js';
import { type FoundUser, routerUser, shardsNamedMax, shardUsers } from './check-privileges.js';
import { covers } from './required-privileges.js';

/** A collection of which something may be needed. */
interface Concerned extends Namespace {
  readonly options: Document;
  /** What places its chunks, of a destination's time series. */
  readonly placing?: readonly string[];
}

/** What only some collections need of a user, beyond what every migration does. */
interface CatalogNeed {
  /** The collections that need it. */
  readonly of: (entry: Concerned) => boolean;
  readonly actions: readonly string[];
  /** What a privilege names as its collections. Null: one on every database covers them. */
  readonly collection: string | null;
}

/** What a privilege on the buckets of time series names as its resource, with the series, or none for all. */
const buckets = 'system_buckets';
const isSeries = ({ name }: Namespace): boolean => seriesOf(name) !== null;

const functions = 'system.js';
const isFunctions = ({ name }: Namespace): boolean => name === functions;

// `readAnyDatabase` and `readWriteAnyDatabase` have most of what follows, and `restore` the rest. Roles of users often
// do not, since privileges on every database leave system collections out.
const reading = ['find', 'listIndexes'];
/** Convoy bypasses validators in every write, which servers allow by the exact collection (8.0.10 source). */
const writing = [...reading, 'insert', 'update', 'remove', 'bypassDocumentValidation'];

const readSeries: CatalogNeed = { of: isSeries, actions: reading, collection: buckets };
const writeSeries: CatalogNeed = { of: isSeries, actions: [...writing, 'createIndex'], collection: buckets };

/** Of the source's user. */
const readerNeeds: readonly CatalogNeed[] = [{ of: isFunctions, actions: reading, collection: functions }, readSeries];

/** Of the users of shards that are read directly, by UUID: servers look at the name that it stands for. */
const shardReaderNeeds: readonly CatalogNeed[] = [
  { of: isFunctions, actions: ['find'], collection: functions },
  readSeries,
];

/** Of the destination's user. */
const writerNeeds: readonly CatalogNeed[] = [
  // `create` of a capped collection asks for it; `readWriteAnyDatabase` has it.
  { of: ({ options }) => options.capped === true, actions: ['convertToCapped'], collection: null },
  { of: isFunctions, actions: writing, collection: functions },
  writeSeries,
];

/** Whose privileges are checked. */
export interface CatalogUsersCheck {
  source: ClusterClient;
  destination: ClusterClient;
  reversible: boolean;
  signal: AbortSignal;
  /** Connects to the destination as the source of a reverse. */
  openNextSource?: () => Promise<ClusterClient>;
}

/**
 * Checks the privileges that only some collections need: capped ones, `system.js`, and time series. If the migration
 * may be reversed, each cluster's users need for its time series what the other's do.
 * @param catalog the source's
 * @param planned the same under the names on the destination
 * @throws ConvoyError `permissionMissing`, which names actions, resources and collections
 */
export async function checkCatalogPrivileges(
  check: CatalogUsersCheck,
  catalog: Catalog,
  planned: Catalog,
): Promise<void> {
  const { source, destination, signal } = check;
  await checkReaders(source, catalog, signal);
  await checkWriter(destination, writerNeeds, withPlacing(planned, source, destination), signal);
  if (!check.reversible) return;
  // They include what the reading of the same buckets needs.
  await checkWriter(source, [writeSeries], withPlacing(catalog, destination, source), signal);
  await checkNextShards(check, planned.filter(isSeries));
}

/**
 * Checks the privileges of a source's users, also of its shards if they are read directly.
 * @throws as `checkCatalogPrivileges`
 */
export async function checkReaders(
  source: ClusterClient,
  listed: readonly Concerned[],
  signal: AbortSignal,
): Promise<void> {
  // Buckets of earlier releases are never read.
  const entries = listed.filter((entry) => source.version[0] >= seriesRelease || !isSeries(entry));
  if (!concerns(readerNeeds, entries)) return;
  refuseLacking([await routerUser(source, signal)], readerNeeds, entries);
  refuseLacking(await shardUsers(source, signal), shardReaderNeeds, entries);
}

async function checkWriter(
  cluster: ClusterClient,
  needs: readonly CatalogNeed[],
  entries: readonly Concerned[],
  signal: AbortSignal,
): Promise<void> {
  if (concerns(needs, entries)) refuseLacking([await routerUser(cluster, signal)], needs, entries);
}

function concerns(needs: readonly CatalogNeed[], entries: readonly Concerned[]): boolean {
  return entries.some((entry) => needs.some(({ of }) => of(entry)));
}

/** A reverse may read the destination's shards directly. */
async function checkNextShards({ openNextSource, signal }: CatalogUsersCheck, series: Catalog): Promise<void> {
  const next = series.length === 0 ? undefined : await openNextSource?.();
  if (next === undefined) return;
  try {
    refuseLacking(await shardUsers(next, signal), [readSeries], series);
  } finally {
    await next.close();
  }
}

function withPlacing(entries: Catalog, from: ClusterClient, to: ClusterClient): Concerned[] {
  return entries.map((entry) => (isSeries(entry) ? { ...entry, placing: placingOf(entry, from, to) } : entry));
}

/** The actions that place the chunks of a time series where servers refuse zones: see `moveRanges`. */
function placingOf(entry: CatalogEntry, from: ClusterClient, to: ClusterClient): string[] {
  const sharding = shardingOn(to, entry);
  if (sharding === null || timeOfShardKey(sharding.key) === undefined) return [];
  const ranges = distributeChunks(sharding.key, sharding.chunks, from.shardIds, to.shardIds);
  // The ranges of a requested key come from a sample, and there will be several.
  const isSampled = ranges.length === 0;
  if (!isSampled && canBeZones({ ...sharding, ranges })) return [];
  return [...(ranges.length === 1 ? [] : ['splitChunk']), ...(to.shardIds.length === 1 ? [] : ['moveChunk'])];
}

function refuseLacking(
  users: readonly FoundUser[],
  needs: readonly CatalogNeed[],
  entries: readonly Concerned[],
): void {
  for (const need of needs) {
    const lacks = users
      .map(({ where, user }) => ({
        where,
        entries: user === null ? [] : entries.filter((entry) => need.of(entry) && lacksAny(user, need, entry)),
      }))
      .filter((lack) => lack.entries.length > 0);
    if (lacks.length > 0) throw missing(need, lacks);
  }
}

function lacksAny({ privileges }: { privileges: readonly Document[] }, need: CatalogNeed, entry: Concerned): boolean {
  return actionsOf(need, entry).some((action) => !isGranted(privileges, action, entry, need.collection !== null));
}

function actionsOf({ actions }: CatalogNeed, { placing = [] }: Concerned): string[] {
  return [...actions, ...placing];
}

function missing(need: CatalogNeed, lacks: readonly { where: string; entries: readonly Concerned[] }[]): ConvoyError {
  const { collection } = need;
  const entries = [...new Set(lacks.flatMap((lack) => lack.entries))];
  const actions = [...new Set(entries.flatMap((entry) => actionsOf(need, entry)))];
  const wheres = nameSome(
    lacks.map(({ where }) => where),
    shardsNamedMax,
  );
  const who = lacks.length === 1 ? `The user of ${wheres} lacks` : `The users of ${wheres} lack`;
  const where = collection === null ? 'every database' : `${collection} of every database`;
  const resource =
    collection === buckets ? '{db: "", system_buckets: ""}' : `{db: "", collection: "${collection ?? ''}"}`;
  return new ConvoyError(
    'permissionMissing',
    `${who} ${actions.join(', ')} on ${where}, which ${nameSome(entries.map(shownName))} needs. Grant it: ` +
      `{resource: ${resource}, actions: ${JSON.stringify(actions)}}. Or exclude it.`,
  );
}

/** @param isSystem privileges on every collection leave it out */
function isGranted(
  privileges: readonly Document[],
  action: string,
  { database, name }: Namespace,
  isSystem: boolean,
): boolean {
  return privileges.some(({ resource, actions }) => {
    const of = resource as Document;
    const has = (actions as string[]).includes(action) || (actions as string[]).includes('anyAction');
    if (!has) return false;
    if (covers(of, 'everyDatabase')) return !isSystem || of.anyResource === true;
    const inDatabase = of.db === undefined || of.db === '' || of.db === database;
    const series = seriesOf(name);
    if (series !== null && of[buckets] !== undefined)
      return inDatabase && (of[buckets] === '' || of[buckets] === series);
    return inDatabase && (of.collection === name || (of.collection === '' && !isSystem));
  });
}
