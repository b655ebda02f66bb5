import type { NamePattern, NamespaceSelector } from '@convoy/api/contract/filter';
import { bothNames, remapText } from '@convoy/api/contract/namespace-remap';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { blockedClusters } from '@convoy/api/contract/write-blocking';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { seriesOf, shownName } from '../cluster/time-series.js';
import { nameFew } from '../catalog/name-some.js';
import {
  cappedWithFilter,
  compileNamespaceFilter,
  compileSelectors,
  type NamespaceFilter,
  parseDocumentFilter,
} from '../catalog/namespace-filter.js';
import { compileNamespaceRemap, type NamespaceRemap } from '../catalog/namespace-remap.js';
import { type Catalog, namespaceOf } from '../catalog/namespace.js';
import { blindViewsWarning, describeBlindViews } from '../catalog/views.js';
import { codeOf, failureName, serverErrorCode } from '../cluster/failure.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { matchingAll } from '../cluster/reads.js';
import { binaryVersion } from '../cluster/topology.js';
import { writeBlockVersion } from '../cluster/write-block.js';
import { type Advice, passed, warning } from './examination.js';

/**
 * The rules for options, versions and topologies that do not need the catalogs (contract 2.1, 2.3 and 4.1).
 * @returns the finding
 * @throws ConvoyError with the name of the first rule that is broken
 */
export function checkOptions(source: ClusterClient, destination: ClusterClient, request: StartRequest): string {
  checkShardingOption(source, destination, request);
  checkReversible(source, destination, request);
  if (request.keepBalancer === true && (source.kind !== 'sharded' || source.access !== 'router'))
    throw new ConvoyError('keepBalancerNeedsRouter');
  if (source.access === 'router' && (request.copyInNaturalOrder !== undefined || request.detectRandomId === true))
    throw new ConvoyError('naturalOrderNeedsDirectAccess');
  const blocked = blockedClusters(request.enableUserWriteBlocking);
  if (blocked.source && binaryVersion(source)[0] < writeBlockVersion)
    throw new ConvoyError('writeBlockingNeedsSource60');
  if (blocked.destination && binaryVersion(destination)[0] < writeBlockVersion)
    throw new ConvoyError('writeBlockingNeedsDestination60');
  return 'The options fit the versions and topologies.';
}

function checkShardingOption(source: ClusterClient, destination: ClusterClient, request: StartRequest): void {
  const needsSharding = source.kind === 'replicaSet' && destination.kind === 'sharded';
  if (needsSharding && request.sharding === undefined) throw new ConvoyError('shardingRequired');
  if (!needsSharding && request.sharding !== undefined) throw new ConvoyError('shardingNotAllowed');
}

function checkReversible(source: ClusterClient, destination: ClusterClient, request: StartRequest): void {
  if (!request.reversible) return;
  if (request.buildIndexes === 'never') throw new ConvoyError('buildIndexesNeverWithReversible');
  if (binaryVersion(source)[0] < writeBlockVersion) throw new ConvoyError('reversibleNeedsSource60');
  if (source.kind !== destination.kind) throw new ConvoyError('reversibleUnsupportedTopology');
  if (source.shardIds.length !== destination.shardIds.length) throw new ConvoyError('reversibleNeedsEqualShardCounts');
  if (!blockedClusters(request.enableUserWriteBlocking).source) throw new ConvoyError('reversibleNeedsWriteBlocking');
}

/** Which namespaces to migrate, and their names on the destination. */
export interface Names {
  filter: NamespaceFilter;
  remap: NamespaceRemap;
}

/**
 * Compiles what the request says about namespaces.
 * @throws ConvoyError `filterPatternInvalid`, `filterNamesServerDatabase`, `documentFilterInvalid`,
 * `namespaceRemapInvalid`
 */
export function compileNames(request: StartRequest): Names {
  compileSelectors(request.copyInNaturalOrder ?? []);
  refuseServerDatabases(request);
  return { filter: compileNamespaceFilter(request), remap: compileNamespaceRemap(request.namespaceRemap) };
}

/** Databases that belong to a cluster itself. */
const serverDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local']);

/**
 * A filter that names a database of the servers asks for collections that would stay behind without a word. A pattern
 * that matches one among others leaves it out.
 * @throws ConvoyError `filterNamesServerDatabase`
 */
function refuseServerDatabases({ includeNamespaces }: Pick<StartRequest, 'includeNamespaces'>): void {
  for (const { database, collections = [] } of includeNamespaces) {
    if (database === undefined || !serverDatabases.has(database)) continue;
    const named = collections.length === 0 ? database : collections.map((name) => `${database}.${name}`).join(', ');
    throw new ConvoyError(
      'filterNamesServerDatabase',
      `includeNamespaces names ${named}. The databases admin, config and local belong to the cluster itself: their ` +
        'collections mean something else on another cluster, and Convoy does not migrate them. Copy what users have ' +
        'put there with mongodump and mongorestore; GET /api/v1/inventory lists it.',
    );
  }
}

/** Location51091: a regular expression does not compile. */
const REGEX_INVALID = 51_091;

/** Codes with which servers refuse a query. */
const REFUSALS: ReadonlySet<number | null> = new Set([
  serverErrorCode.badValue,
  serverErrorCode.typeMismatch,
  serverErrorCode.failedToParse,
  REGEX_INVALID,
]);

/**
 * Checks that every query of `documentFilter` is about a collection that is migrated, and that the source takes it.
 * @throws ConvoyError `documentFilterInvalid`
 */
export async function checkDocumentFilters(
  source: ClusterClient,
  catalog: Catalog,
  { documentFilter = [] }: Pick<StartRequest, 'documentFilter'>,
  signal: AbortSignal,
): Promise<void> {
  for (const given of documentFilter) {
    const { database, collection } = given;
    const namespace = `${database}.${collection}`;
    const entry = catalog.find((one) => shownName(one) === namespace);
    if (entry?.type !== 'collection')
      throw new ConvoyError(
        'documentFilterInvalid',
        `documentFilter names ${namespace}, which is no collection of this migration. Correct the name.`,
      );
    if (entry.options.capped === true) throw cappedWithFilter(namespace);
    if (seriesOf(entry.name) !== null)
      throw new ConvoyError(
        'documentFilterInvalid',
        `documentFilter names the time series ${namespace}, which moves by whole buckets of measurements. Remove it.`,
      );
    // Matches nothing, but the server parses the whole query.
    const query = matchingAll({ _id: { $in: [] } }, parseDocumentFilter(given));
    try {
      await source.router.command(database, { find: collection, ...query, limit: 1, singleBatch: true }, { signal });
    } catch (error) {
      if (!REFUSALS.has(codeOf(error))) throw error;
      throw new ConvoyError(
        'documentFilterInvalid',
        `The source refuses the documentFilter of ${namespace}: ${failureName(error)}. Try it with find.`,
        { cause: error },
      );
    }
  }
}

/** Reports what the filter matched: the only way to notice a misspelt name before data is missing. */
export function adviseMatched(catalog: Catalog, request: StartRequest, remap: NamespaceRemap): Advice {
  const filtered = request.includeNamespaces.length + request.excludeNamespaces.length > 0;
  const names = catalog.map(namespaceOf);
  if (filtered && names.length === 0) {
    return warning(
      'filterMatchesNothing',
      'The filter matches no collection of the source, so nothing would be migrated. Correct the filter.',
    );
  }
  const unmatched = unmatchedParts(catalog, request.includeNamespaces);
  if (unmatched.length > 0) {
    return warning(
      'filterMatchesNothing',
      'These parts of includeNamespaces match nothing on the source that is not excluded: ' +
        `${nameFew(unmatched)}. Check their names.`,
    );
  }
  const unmoved = unmatchedRemaps(catalog, request);
  if (unmoved.length > 0) {
    return warning(
      'namespaceRemapMatchesNothing',
      `namespaceRemap names what is not migrated: ${nameFew(unmoved)}. Check these names.`,
    );
  }
  const unordered = unmatchedParts(catalog, request.copyInNaturalOrder ?? []);
  if (unordered.length > 0) {
    return warning(
      'copyInNaturalOrderMatchesNothing',
      `copyInNaturalOrder names what is not migrated: ${nameFew(unordered)}. Check these names.`,
    );
  }
  const blind = filtered ? describeBlindViews(catalog) : null;
  if (blind !== null) return warning(blindViewsWarning, blind);
  const views = catalog.filter(({ type }) => type === 'view').length;
  const databases = new Set(catalog.map(({ database }) => database)).size;
  const counted =
    `${counts(names.length - views, 'collection')} and ${counts(views, 'view')} ` +
    `in ${counts(databases, 'database')}`;
  const both = catalog.map((entry) => bothNames(shownName(entry), shownName(remap.toDestination(entry))));
  return names.length === 0 ? 'The source is empty.' : passed(`To be migrated: ${counted}: ${nameFew(both)}.`, both);
}

function counts(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/**
 * The parts of a list like `includeNamespaces` that select nothing of a catalog, in words: whole elements, and single
 * names in `collections`.
 */
function unmatchedParts(catalog: Catalog, selectors: readonly NamespaceSelector[]): string[] {
  return selectors.flatMap((selector) => {
    if (!matchesAny(catalog, selector)) return [inWords(selector)];
    const { database, collections = [] } = selector;
    if (database === undefined) return [];
    return collections
      .filter((name) => !catalog.some((entry) => shownName(entry) === `${database}.${name}`))
      .map((name) => `${database}.${name}`);
  });
}

/** The elements of `namespaceRemap` that no collection or view of a catalog has to do with. */
function unmatchedRemaps(catalog: Catalog, { namespaceRemap = [] }: StartRequest): string[] {
  return namespaceRemap
    .map(({ from }) => from)
    .filter(
      ({ database, collection }) =>
        !catalog.some(
          (entry) => entry.database === database && (collection === undefined || entry.name === collection),
        ),
    )
    .map(remapText);
}

function matchesAny(catalog: Catalog, selector: NamespaceSelector): boolean {
  const filter = compileNamespaceFilter({ includeNamespaces: [selector], excludeNamespaces: [] });
  return catalog.some(({ database, name }) => filter.includes(database, name));
}

function inWords({ database, databaseRegex, collections = [], collectionsRegex }: NamespaceSelector): string {
  const where = databaseRegex === undefined ? (database ?? '') : `databases like ${pattern(databaseRegex)}`;
  const what = [...collections, ...(collectionsRegex === undefined ? [] : [`names like ${pattern(collectionsRegex)}`])];
  return what.length === 0 ? where : `${what.join(', ')} of ${where}`;
}

function pattern(of: NamePattern): string {
  return `/${of.pattern}/${of.options}`;
}
