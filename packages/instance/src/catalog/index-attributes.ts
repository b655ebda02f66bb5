import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { type Document, MongoServerError } from 'mongodb';
import { shownName } from '../cluster/time-series.js';
import { mapBounded } from '../async/together.js';
import { encodeValue, type RawValue } from '../bson/scan.js';
import { codeOf, noQueryPlanCode, serverErrorCode } from '../cluster/failure.js';
import {
  buildMissing,
  changeCollection,
  changeIndex,
  CODES_OF_PRESENT_INDEXES,
  dropIndex,
  type IndexBuilding,
  sendCreateIndexes,
} from './build-indexes.js';
import type { Making } from './create-collections.js';
import { sameDocument } from './namespace.js';
import type { CollectionPlan, DestinationPlan } from './destination-plan.js';
import { indexKeyFilter } from './index-key-filter.js';
import {
  type IndexPlan,
  isBuiltToExpire,
  isIdKey,
  supportingIndex,
  TEMPORARY_INDEX_PREFIX,
  uniqueConversion,
} from './index-plan.js';
import { indexesMax, TTL_OFF_SECONDS } from './index-spec.js';
import { type PresentIndexes, presentIndexes } from './read-indexes.js';

/** Collections processed concurrently: unique indexes may be rebuilt over all data. */
const COLLECTIONS_PARALLEL = 4;

interface Restoring extends IndexBuilding {
  readonly conversion: ReturnType<typeof uniqueConversion>;
}

/**
 * Converts every index of the destination to its final form: unique, then hidden, prepared and TTL as on the source.
 * The unique ones of all collections come first, so that no TTL deletes anything while a violation may still end the
 * commit. Every step checks what exists: callers may repeat it after a crash, and a repetition after the end changes
 * nothing.
 * @param plan for the source's catalog as of commit time
 * @throws UniqueIndexViolated with all indexes that documents violate; `destinationChanged` if an index has neither its
 * temporary nor its final form; otherwise what the client throws
 */
export async function restoreAttributes(
  { destination, signal, confirm, builds }: Making,
  plan: DestinationPlan,
): Promise<void> {
  const collections = plan.collections.filter((collection) => needsRestoring(collection));
  const conversion = uniqueConversion(destination.version);
  const restoring = { client: destination.router, conversion, signal, confirm, builds };
  const refusals = await mapBounded(collections, COLLECTIONS_PARALLEL, (collection) =>
    restoreUnique(restoring, collection),
  );
  throwViolations(refusals.flat());
  await mapBounded(collections, COLLECTIONS_PARALLEL, (collection) => restoreInPlace(restoring, collection));
}

function needsRestoring(plan: CollectionPlan): boolean {
  const isDeferred = ({ final, temporary, staysPlain }: IndexPlan): boolean =>
    staysPlain === true || temporary === null || !sameDocument(final, temporary);
  return plan.options.expireAfterSeconds !== undefined || plan.indexes.some(isDeferred);
}

/** An index that could not be made unique, and the server's words. */
interface Refusal {
  violation: UniqueViolation;
  cause: unknown;
}

function throwViolations(refusals: readonly Refusal[]): void {
  if (refusals.length > 0)
    throw new UniqueIndexViolated(
      refusals.map(({ violation }) => violation),
      refusals[0]?.cause,
    );
}

async function restoreUnique(restoring: Restoring, plan: CollectionPlan): Promise<Refusal[]> {
  const { conversion } = restoring;
  const refusals: Refusal[] = [];
  for (const index of plan.indexes) {
    if (index.staysPlain === true) await leavePlain(restoring, plan, index);
    if (index.final.unique !== true || index.temporary?.unique === true) continue;
    const present = await presentIndexes(restoring, plan);
    const isUnique = present.every(index.final.name as string, ({ unique }) => unique === true);
    const refusal = isUnique ? null : await makeUnique(restoring, plan, index, present);
    if (refusal !== null) {
      refusals.push(refusal);
      continue;
    }
    const temporaryName = index.temporary?.name as string | undefined;
    const standsBeside = temporaryName?.startsWith(TEMPORARY_INDEX_PREFIX) === true;
    if (standsBeside && present.some(temporaryName) && (isUnique || !isDroppedFirst(conversion, present)))
      await dropIndex(restoring, plan.entry, temporaryName);
  }
  return refusals;
}

/** Whether no unique index can be built beside its plain one: the server allows no second one, or no further one. */
function isDroppedFirst(conversion: Restoring['conversion'], present: PresentIndexes): boolean {
  return conversion === 'instead' || (conversion === 'beside' && present.size >= indexesMax);
}

/** Ends the attempts to make an index unique: it has its name, as a plain one. */
async function leavePlain(restoring: Restoring, plan: CollectionPlan, { final }: IndexPlan): Promise<void> {
  const name = final.name as string;
  const temporaryName = `${TEMPORARY_INDEX_PREFIX}${name}`;
  const present = await presentIndexes(restoring, plan);
  if (present.some(name, ({ prepareUnique }) => prepareUnique === true))
    await changeIndex(restoring, plan, { name, prepareUnique: false });
  const isPlain = present.every(name, ({ unique }) => unique !== true);
  if (isPlain && (restoring.conversion === 'inPlace' || !present.some(temporaryName))) return;
  // One shard may have built it as a unique one.
  for (const one of [name, temporaryName]) await dropIndex(restoring, plan.entry, one);
  await sendCreateIndexes(restoring, plan, [final]);
}

/** @returns why the index could not be made unique, if documents violate it */
async function makeUnique(
  restoring: Restoring,
  plan: CollectionPlan,
  index: IndexPlan,
  present: PresentIndexes,
): Promise<Refusal | null> {
  const name = index.final.name as string;
  const temporaryName = index.temporary?.name as string | undefined;
  if (temporaryName !== undefined && present.some(temporaryName) && isDroppedFirst(restoring.conversion, present))
    await dropIndex(restoring, plan.entry, temporaryName);
  // An earlier attempt may have built the unique one on some shards.
  let standsEverywhere = present.every(name);
  try {
    if (!standsEverywhere && restoring.conversion === 'inPlace' && present.some(name))
      standsEverywhere = await completeOnShards(restoring, plan, index, present);
    if (standsEverywhere) {
      await changeIndex(restoring, plan, { name, prepareUnique: true });
      await changeIndex(restoring, plan, { name, unique: true });
    } else {
      await sendCreateIndexes(restoring, plan, [index.final]);
    }
    return null;
  } catch (failure) {
    const violation = await violationOf(restoring, plan, index.final, failure);
    if (violation === null) throw failure;
    // A shard without the documents has built it: the router could take that for the whole.
    if (!standsEverywhere) await dropIndex(restoring, plan.entry, name);
    return { violation, cause: failure };
  }
}

/**
 * Builds an index on the shards that have lost it, in the form that others have, so that all of them have one to
 * convert: a unique one cannot be built beside a plain one of its name.
 * @returns whether every shard has the index now
 */
async function completeOnShards(
  restoring: Restoring,
  plan: CollectionPlan,
  { final, temporary }: IndexPlan,
  present: PresentIndexes,
): Promise<boolean> {
  const name = final.name as string;
  const isUnique = present.some(name, ({ unique }) => unique === true);
  try {
    await sendCreateIndexes(restoring, plan, [isUnique || temporary === null ? final : temporary]);
  } catch (failure) {
    // A shard that has another form of it keeps that.
    if (!CODES_OF_PRESENT_INDEXES.has(codeOf(failure))) throw failure;
  }
  return (await presentIndexes(restoring, plan)).every(name);
}

/** Attributes that every version changes in place. TTL comes last: from then on the server deletes documents. */
async function restoreInPlace(restoring: Restoring, plan: CollectionPlan): Promise<void> {
  const expiring = plan.indexes.filter(isBuiltToExpire).map(({ final }) => final);
  await buildMissing(restoring, plan, expiring);
  const present = await presentIndexes(restoring, plan);
  for (const { final } of plan.indexes) {
    const name = final.name as string;
    if (!present.every(name)) {
      throw new ConvoyError(
        'destinationChanged',
        `Index ${name} of ${shownName(plan.entry)} is missing on the destination.`,
      );
    }
    for (const change of inPlaceChanges(final, present)) await changeInPlace(restoring, plan, name, change);
  }
  const expireAfterSeconds: unknown = plan.options.expireAfterSeconds;
  if (expireAfterSeconds !== undefined) await changeCollection(restoring, plan, { expireAfterSeconds });
}

/** An index that the shard key needs stays visible if the server insists: the comparison of definitions names it. */
async function changeInPlace(
  restoring: Restoring,
  plan: CollectionPlan,
  name: string,
  change: Document,
): Promise<void> {
  try {
    await changeIndex(restoring, plan, { name, ...change });
  } catch (failure) {
    const staysVisible = change.hidden === true && plan.sharding !== null;
    if (!staysVisible || codeOf(failure) !== serverErrorCode.invalidOptions) throw failure;
  }
}

/** What at least one shard lacks. */
function inPlaceChanges(final: Document, present: PresentIndexes): Document[] {
  const lacks = (attribute: string): boolean =>
    !present.every(final.name as string, (found) => found[attribute] === final[attribute]);
  const changes: Document[] = [];
  if (final.prepareUnique === true && lacks('prepareUnique')) changes.push({ prepareUnique: true });
  if (final.hidden === true && lacks('hidden')) changes.push({ hidden: true });
  if (lacks('expireAfterSeconds')) changes.push({ expireAfterSeconds: final.expireAfterSeconds as unknown });
  return changes;
}

/** Supports the shard key while Convoy rebuilds the unique index that usually does. */
const HELPER_NAME = `${TEMPORARY_INDEX_PREFIX}shard_key`;

/**
 * The opposite of `restoreAttributes`: converts every index of a destination back to the form in which changes are
 * applied. It checks each index first and changes it only if necessary, so callers may repeat it after a crash.
 * @param plan for the catalog that both clusters have, in which the destination has every index in its final form
 * @throws what the client throws; as `buildMissing`
 */
export async function deferAttributes(making: Making, plan: DestinationPlan): Promise<void> {
  const { destination, signal, confirm, builds } = making;
  const deferring = { client: destination.router, signal, confirm, builds };
  const collections = plan.collections.filter(({ entry }) => entry.type === 'collection');
  await mapBounded(collections, COLLECTIONS_PARALLEL, (collection) => deferCollection(deferring, collection));
}

async function deferCollection(deferring: IndexBuilding, plan: CollectionPlan): Promise<void> {
  if (plan.options.expireAfterSeconds !== undefined)
    await changeCollection(deferring, plan, { expireAfterSeconds: 'off' });
  for (const index of plan.indexes) await deferIndex(deferring, plan, index);
  const present = await presentIndexes(deferring, plan);
  if (present.some(HELPER_NAME)) await dropIndex(deferring, plan.entry, HELPER_NAME);
}

async function deferIndex(
  deferring: IndexBuilding,
  plan: CollectionPlan,
  { final, temporary }: IndexPlan,
): Promise<void> {
  const name = final.name as string;
  const present = await presentIndexes(deferring, plan);
  const isUnique = ({ unique }: Document): boolean => unique === true;
  if (present.some(name, isUnique) && temporary?.unique !== true) {
    await support(deferring, plan, name, present);
    await dropIndex(deferring, plan.entry, name);
  }
  if (isBuiltToExpire({ final, temporary })) await dropIndex(deferring, plan.entry, name);
  if (temporary === null) return;
  if (present.every(name, (found) => isUnique(found) === isUnique(temporary))) {
    for (const change of changesOf(temporary, present)) await changeIndex(deferring, plan, { name, ...change });
    return;
  }
  await buildMissing(deferring, plan, [temporary]);
}

/** A shard key is never without its index. */
async function support(
  deferring: IndexBuilding,
  plan: CollectionPlan,
  leaving: string,
  present: PresentIndexes,
): Promise<void> {
  const key = plan.sharding?.key;
  const others = present.onAllShards.filter((index) => index.name !== leaving);
  if (key === undefined || isIdKey(key) || supportingIndex(others, key, false) !== undefined) return;
  await sendCreateIndexes(deferring, plan, [{ key, name: HELPER_NAME }]);
}

/** What at least one shard needs. */
function changesOf({ name, expireAfterSeconds }: Document, present: PresentIndexes): Document[] {
  const some = (test: (found: Document) => boolean): boolean => present.some(name as string, test);
  const changes: Document[] = [];
  if (some((found) => found.prepareUnique === true)) changes.push({ prepareUnique: false });
  if (some((found) => found.hidden === true)) changes.push({ hidden: false });
  if (expireAfterSeconds === TTL_OFF_SECONDS && some((found) => found.expireAfterSeconds !== TTL_OFF_SECONDS))
    changes.push({ expireAfterSeconds: TTL_OFF_SECONDS });
  return changes;
}

/** `_id`s reported per index: enough to start with, few enough for a list. */
const idsMax = 100;
/** Violated indexes that a description names. */
const namedMax = 5;

/** Documents on the destination that violate an index which must become unique. */
interface UniqueViolation {
  readonly namespace: string;
  readonly index: string;
  /** `_id`s of such documents, as far as the server reports them. */
  readonly ids: readonly RawValue[];
}

/** Indexes cannot be made unique yet. The description names namespaces and indexes, never values. */
export class UniqueIndexViolated extends ConvoyError {
  /** Not enumerable, so that no logger shows it: it holds `_id`s. */
  readonly #violations: readonly UniqueViolation[];

  constructor(violations: readonly UniqueViolation[], cause: unknown) {
    super('uniqueIndexViolated', describe(violations), { cause });
    this.#violations = violations;
  }

  get violations(): readonly UniqueViolation[] {
    return this.#violations;
  }
}

function describe(violations: readonly UniqueViolation[]): string {
  const named = violations
    .slice(0, namedMax)
    .map(({ namespace, index }) => `Documents of ${namespace} on the destination violate the unique index ${index}.`);
  return [
    ...named,
    ...(violations.length > namedMax ? [`So do those of ${violations.length - namedMax} more indexes.`] : []),
  ].join(' ');
}

/** The server's report when it refuses to make an index unique; null for other errors. */
async function violationOf(
  building: IndexBuilding,
  plan: CollectionPlan,
  index: Document,
  failure: unknown,
): Promise<UniqueViolation | null> {
  if (!(failure instanceof MongoServerError)) return null;
  if (failure.code !== serverErrorCode.duplicateKey && failure.code !== serverErrorCode.cannotConvertIndexToUnique)
    return null;
  const ids: unknown[] = [];
  for (const { violations, keyValue } of repliesOf(failure)) {
    if (violations !== undefined) ids.push(...violations.flatMap((group) => group.ids));
    else if (keyValue !== undefined) ids.push(...(await idsUnder(building, plan, index, keyValue)));
  }
  return { namespace: shownName(plan.entry), index: String(index.name), ids: ids.slice(0, idsMax).map(encodeValue) };
}

/** The server's report of the duplicate keys. */
interface FoundKeys {
  violations?: { ids: unknown[] }[];
  keyValue?: Document;
}

/** A shard reports it in its reply; a router only passes on each shard's reply in `raw` (seen on 5.0.7). */
function repliesOf({ errorResponse }: MongoServerError): FoundKeys[] {
  const own = errorResponse as FoundKeys & { raw?: Record<string, FoundKeys> };
  return own.violations === undefined && own.keyValue === undefined ? Object.values(own.raw ?? {}) : [own];
}

/**
 * A build, as before 6.0, ends at the first duplicate key. Under a collation its value is not a field's value, so
 * nothing is found.
 */
async function idsUnder(
  { client, signal }: IndexBuilding,
  plan: CollectionPlan,
  index: Document,
  keyValue: Document,
): Promise<unknown[]> {
  const { database, name } = plan.entry;
  const { partialFilterExpression, collation } = index as { partialFilterExpression?: Document; collation?: Document };
  const command = {
    find: name,
    filter: indexKeyFilter(keyValue, partialFilterExpression),
    projection: { _id: 1 },
    limit: idsMax,
    batchSize: idsMax,
    singleBatch: true,
    // An index without one has the simple one, whatever that of its collection is.
    collation: collation ?? { locale: 'simple' },
  };
  const reply = await client.command(database, command, { signal }).catch((error: unknown) => {
    // Without an index, and with notablescan.
    if (codeOf(error) !== noQueryPlanCode) throw error;
    return { cursor: { firstBatch: [] } };
  });
  return (reply.cursor as { firstBatch: { _id: unknown }[] }).firstBatch.map(({ _id }) => _id);
}
