import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { seriesOf, seriesRelease, shownName } from '../cluster/time-series.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { isAtLeast } from '../cluster/topology.js';
import { RawValue } from '../bson/scan.js';
import { indexObstacle, isIdIndex } from './index-spec.js';
import { nameSome } from './name-some.js';
import { type Catalog, type CatalogEntry, namespaceOf } from './namespace.js';
import type { CatalogReport } from './read-catalog.js';
import { viewSources } from './views.js';

/**
 * Refuses a start that includes time series of a source before 6.0, or after 8.2. Those that somebody creates later are
 * left out (`describeLeftOut`).
 * @throws ConvoyError `timeSeriesNotSupported`, naming the first few
 */
export function refuseTimeSeries(
  { timeSeries }: Pick<CatalogReport, 'timeSeries'>,
  { name, version }: Pick<ClusterClient, 'name' | 'version'>,
): void {
  if (timeSeries.length === 0) return;
  const upgrade = isAtLeast(version, seriesRelease, 0) ? '' : `, or upgrade ${name} to ${seriesRelease}.0 first`;
  throw new ConvoyError(
    'timeSeriesNotSupported',
    `${name} is of release ${version.slice(0, 2).join('.')}, and has time-series collections: ` +
      `${nameSome(timeSeries)}. Only those of releases from 6.0 to 8.2 can be migrated, however the source is read. ` +
      `Exclude them and move them with mongodump and mongorestore${upgrade}.`,
  );
}

/** The first release that keeps time series in another form than as buckets behind a view. */
const viewlessSeries = [8, 3] as const;

/** The first release with TTL indexes of time series. */
const expiringMeasurements = [6, 3] as const;

/**
 * Refuses time series that would arrive in a form which one of the clusters does not know, now or after a reverse.
 * @throws ConvoyError `timeSeriesNotSupported`, naming the first few
 */
export function refuseSeriesBetween(
  catalog: Catalog,
  clusters: readonly Pick<ClusterClient, 'name' | 'version'>[],
  isReversible: boolean,
): void {
  const series = catalog.filter(({ name }) => seriesOf(name) !== null).map(shownName);
  if (series.length === 0) return;
  const newer = clusters.find(({ version }) => isAtLeast(version, ...viewlessSeries));
  if (newer !== undefined)
    throw new ConvoyError(
      'timeSeriesNotSupported',
      `${newer.name} keeps time series in a form that Convoy does not know (releases after 8.2), and the source has ` +
        `${nameSome(series)}. Exclude them.`,
    );
  const older = clusters.find(({ version }) => !isAtLeast(version, ...expiringMeasurements));
  const expiring = catalog.filter(
    ({ name, indexes }) => seriesOf(name) !== null && indexes.some((index) => index.expireAfterSeconds !== undefined),
  );
  if (older !== undefined && expiring.length > 0)
    throw new ConvoyError(
      'timeSeriesNotSupported',
      `${older.name} cannot have the TTL indexes of ${nameSome(expiring.map(shownName))}, which releases from 6.3 on ` +
        'can. Drop these indexes, or exclude their collections.',
    );
  if (!isReversible || new Set(clusters.map(({ version: [major] }) => major)).size < 2) return;
  throw new ConvoyError(
    'timeSeriesNotSupported',
    `The destination may write buckets of ${nameSome(series)} in a form that the older source does not know, so a ` +
      'reverse could not bring them back. Exclude them, or start with reversible false.',
  );
}

/**
 * Refuses included collections and indexes of kinds that Convoy cannot replicate, at any point of a migration.
 * @throws ConvoyError `collectionNotSupported` or `indexNotSupported`, naming the first few
 */
export function refuseUnsupported({ catalog }: Pick<CatalogReport, 'catalog'>): void {
  const encrypted = encryptedIn(catalog);
  if (encrypted.length > 0) {
    throw new ConvoyError(
      'collectionNotSupported',
      `The source has collections with queryable encryption: ${nameSome(encrypted)}. Servers accept their ` +
        'documents only from clients that encrypt them. Exclude them.',
    );
  }
  const unsendable = catalog
    .filter(({ options }) => Object.values(options).some((value) => value instanceof RawValue))
    .map(namespaceOf);
  if (unsendable.length > 0) {
    throw new ConvoyError(
      'collectionNotSupported',
      `The validators or pipelines of ${nameSome(unsendable)} hold values that Convoy cannot send in a command: ` +
        'dates beyond the year 275760, DBPointers, or texts that are not valid UTF-8. Change or exclude them.',
    );
  }
  refuseObstacles(catalog);
}

function refuseObstacles(catalog: Catalog): void {
  const obstacles = catalog.flatMap((entry) =>
    entry.indexes.filter((index) => !isIdIndex(index)).flatMap((index) => describeObstacle(entry, index)),
  );
  if (obstacles.length === 0) return;
  throw new ConvoyError(
    'indexNotSupported',
    `The destination cannot have these indexes of the source: ${nameSome(obstacles)}. Drop them or exclude their ` +
      'collections.',
  );
}

function describeObstacle(entry: CatalogEntry, index: Document): string[] {
  const obstacle = indexObstacle(index);
  return obstacle === null ? [] : [`${String(index.name)} of ${shownName(entry)}: ${obstacle}`];
}

function encryptedIn(catalog: Catalog): string[] {
  return catalog.filter((entry) => entry.options.encryptedFields !== undefined).map(namespaceOf);
}

/** Name of the warning about time series that appeared while a migration runs. */
export const timeSeriesWarning = 'timeSeriesLeftOut';

/**
 * What a migration leaves out of a source that it follows: time series that somebody has created since the start, and
 * what views read of them. The views themselves are migrated.
 * @returns null if there is none
 */
export function describeLeftOut({ timeSeries, catalog }: Pick<CatalogReport, 'timeSeries' | 'catalog'>): string | null {
  if (timeSeries.length === 0) return null;
  const series = new Set(timeSeries);
  const blind = catalog.filter((view) => {
    if (view.type !== 'view') return false;
    const { viewOn, joined } = viewSources(view);
    return [viewOn, ...joined].some((name) => series.has(`${view.database}.${String(name)}`));
  });
  const views =
    blind.length === 0 ? '' : `These views lack on the destination what they read of them: ${nameViews(blind)}. `;
  return (
    `Time-series collections were created on the source since the start, and are not migrated: ` +
    `${nameSome(timeSeries)}. ${views}Only those of releases from 6.0 to 8.2 are. Move them with ` +
    'mongodump and mongorestore once the writers have stopped.'
  );
}

function nameViews(views: CatalogReport['catalog']): string {
  return nameSome(views.map(namespaceOf));
}
