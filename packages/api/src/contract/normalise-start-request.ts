import { ConvoyError } from '../errors/convoy-error.js';
import { canonicalJson, sortedSet } from './canonical-json.js';
import { carriedKindsOf, mergesShards, normaliseCarry } from './carry.js';
import { type DocumentFilter, filterText } from './document-filter.js';
import type { NamePattern, NamespaceSelector } from './filter.js';
import { given } from './given.js';
import type { NamespaceRemap } from './namespace-remap.js';
import type { Sharding } from './sharding.js';
import type { StartRequest } from './start-request.js';
import { blockedClusters, normaliseWriteBlocking } from './write-blocking.js';

/**
 * Checks the rules between options that need no cluster, and sorts lists and letters whose order has no meaning.
 * @throws ConvoyError `sourceEqualsDestination`, `buildIndexesNeverWithReversible`,
 * `excludeHashedWithReversible`, `documentFilterWithReversible`,
 * `namespaceRemapWithReversible`, `mergedZonesWithReversible`, `indexChoicesWithReversible`,
 * `reversibleNeedsWriteBlocking` or `carryWithNamespaceRemap`
 */
export function normaliseStartRequest(request: StartRequest): StartRequest {
  checkOptionRules(request);
  const normal: AllOptions = {
    source: request.source,
    destination: request.destination,
    buildIndexes: request.buildIndexes,
    indexConflicts: unlessDefault(request.indexConflicts, 'refuse'),
    indexFailures: unlessDefault(request.indexFailures, 'refuse'),
    enableUserWriteBlocking: normaliseWriteBlocking(request.enableUserWriteBlocking),
    includeNamespaces: normaliseFilter(request.includeNamespaces),
    excludeNamespaces: normaliseFilter(request.excludeNamespaces),
    reversible: request.reversible,
    keepBalancer: unlessDefault(request.keepBalancer, false),
    copyInNaturalOrder: request.copyInNaturalOrder?.length ? normaliseFilter(request.copyInNaturalOrder) : undefined,
    detectRandomId: unlessDefault(request.detectRandomId, false),
    sharding: request.sharding && normaliseSharding(request.sharding),
    documentFilter: request.documentFilter && normaliseFilters(request.documentFilter),
    namespaceRemap: request.namespaceRemap && normaliseRemap(request.namespaceRemap),
    carry: normaliseCarry(request.carry),
    verification: { enabled: request.verification.enabled },
  };
  return given(normal) as StartRequest;
}

/** Each option by its name: one that is not handled does not compile. */
type AllOptions = { [Option in keyof Required<StartRequest>]: StartRequest[Option] };

/** The default of an option that came with a later release is absent, as in the requests of earlier ones. */
function unlessDefault<Value>(value: Value | undefined, byDefault: Value): Value | undefined {
  return value === byDefault ? undefined : value;
}

function checkOptionRules(request: StartRequest): void {
  if (request.source === request.destination) throw new ConvoyError('sourceEqualsDestination');
  refuseRenamedAccess(request);
  if (!request.reversible) return;
  if (request.buildIndexes === 'never') throw new ConvoyError('buildIndexesNeverWithReversible');
  if (request.buildIndexes.startsWith('excludeHashed')) throw new ConvoyError('excludeHashedWithReversible');
  const choices = [request.indexConflicts, request.indexFailures];
  if (choices.some((choice) => choice !== undefined && choice !== 'refuse'))
    throw new ConvoyError('indexChoicesWithReversible');
  if (request.documentFilter !== undefined) throw new ConvoyError('documentFilterWithReversible');
  if (request.namespaceRemap !== undefined) throw new ConvoyError('namespaceRemapWithReversible');
  if (mergesShards(request.carry)) throw new ConvoyError('mergedZonesWithReversible');
  if (!blockedClusters(request.enableUserWriteBlocking).source) throw new ConvoyError('reversibleNeedsWriteBlocking');
}

/** Roles and the shapes of queries name databases and collections, and Convoy changes neither. */
function refuseRenamedAccess({ carry, namespaceRemap }: StartRequest): void {
  const kinds = carriedKindsOf(carry);
  if (namespaceRemap !== undefined && (kinds.has('usersAndRoles') || kinds.has('querySettings')))
    throw new ConvoyError('carryWithNamespaceRemap');
}

function normaliseFilter(selectors: readonly NamespaceSelector[]): NamespaceSelector[] {
  return sortedSet(selectors.map(normaliseSelector), canonicalJson);
}

function normaliseSelector(selector: NamespaceSelector): NamespaceSelector {
  const { database, databaseRegex, collections, collectionsRegex } = selector;
  return given({
    database,
    databaseRegex: databaseRegex && normalisePattern(databaseRegex),
    collections: collections && sortedSet(collections, String),
    collectionsRegex: collectionsRegex && normalisePattern(collectionsRegex),
  });
}

/** Drops the letter u: the server accepts it and always matches UTF-8. */
function normalisePattern(pattern: NamePattern): NamePattern {
  const letters = Array.from(pattern.options).filter((letter) => letter !== 'u');
  return { pattern: pattern.pattern, options: sortedSet(letters, String).join('') };
}

function normaliseFilters(filters: readonly DocumentFilter[]): DocumentFilter[] {
  const texts = filters.map((one) => ({ database: one.database, collection: one.collection, filter: filterText(one) }));
  return sortedSet(texts, canonicalJson);
}

function normaliseRemap(elements: NamespaceRemap): NamespaceRemap {
  return sortedSet(
    elements.map(({ from, to }) => ({ from: { ...from }, to: { ...to } })),
    canonicalJson,
  );
}

function normaliseSharding(sharding: Sharding): Sharding {
  return {
    createSupportingIndexes: sharding.createSupportingIndexes,
    shardingEntries: sortedSet(sharding.shardingEntries, canonicalJson),
  };
}
