import { ConvoyError } from '../errors/convoy-error.js';
import { canonicalJson, sortedSet } from './canonical-json.js';
import { carriedKindsOf, normaliseCarry } from './carry.js';
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
 * `namespaceRemapWithReversible`, `indexChoicesWithReversible`, `reversibleNeedsWriteBlocking` or
 * `carryWithNamespaceRemap`
 */
export function normaliseStartRequest(request: StartRequest): StartRequest {
  checkOptionRules(request);
  return {
    source: request.source,
    destination: request.destination,
    buildIndexes: request.buildIndexes,
    ...indexChoices(request),
    enableUserWriteBlocking: normaliseWriteBlocking(request.enableUserWriteBlocking),
    includeNamespaces: normaliseFilter(request.includeNamespaces),
    excludeNamespaces: normaliseFilter(request.excludeNamespaces),
    reversible: request.reversible,
    ...(request.keepBalancer === true ? { keepBalancer: true } : {}),
    ...(request.copyInNaturalOrder === undefined || request.copyInNaturalOrder.length === 0
      ? {}
      : { copyInNaturalOrder: normaliseFilter(request.copyInNaturalOrder) }),
    ...(request.detectRandomId === true ? { detectRandomId: true } : {}),
    ...given({
      sharding: request.sharding && normaliseSharding(request.sharding),
      documentFilter: request.documentFilter && normaliseFilters(request.documentFilter),
      namespaceRemap: request.namespaceRemap && normaliseRemap(request.namespaceRemap),
      carry: normaliseCarry(request.carry),
    }),
    verification: { enabled: request.verification.enabled },
  };
}

function checkOptionRules(request: StartRequest): void {
  if (request.source === request.destination) throw new ConvoyError('sourceEqualsDestination');
  refuseRenamedAccess(request);
  if (!request.reversible) return;
  if (request.buildIndexes === 'never') throw new ConvoyError('buildIndexesNeverWithReversible');
  if (request.buildIndexes.startsWith('excludeHashed')) throw new ConvoyError('excludeHashedWithReversible');
  if (Object.keys(indexChoices(request)).length > 0) throw new ConvoyError('indexChoicesWithReversible');
  if (request.documentFilter !== undefined) throw new ConvoyError('documentFilterWithReversible');
  if (request.namespaceRemap !== undefined) throw new ConvoyError('namespaceRemapWithReversible');
  if (!blockedClusters(request.enableUserWriteBlocking).source) throw new ConvoyError('reversibleNeedsWriteBlocking');
}

/** Roles and the shapes of queries name databases and collections, and Convoy changes neither. */
function refuseRenamedAccess({ carry, namespaceRemap }: StartRequest): void {
  const kinds = carriedKindsOf(carry);
  if (namespaceRemap !== undefined && (kinds.has('usersAndRoles') || kinds.has('querySettings')))
    throw new ConvoyError('carryWithNamespaceRemap');
}

/** The choices about single indexes; the default is absent, as in the requests of earlier releases. */
function indexChoices({ indexConflicts, indexFailures }: StartRequest): Partial<StartRequest> {
  return {
    ...(indexConflicts === undefined || indexConflicts === 'refuse' ? {} : { indexConflicts }),
    ...(indexFailures === undefined || indexFailures === 'refuse' ? {} : { indexFailures }),
  };
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
