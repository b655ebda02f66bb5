import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { type Document, MongoServerError } from 'mongodb';
import { encodeValue, type RawValue } from '../bson/scan.js';
import type { IndexBuilding } from './make/index-building.js';
import type { CollectionPlan } from './plan/destination-plan.js';
import { namespaceOf } from './namespace.js';
import { serverErrorCode } from '../cluster/failure.js';

/** `_id`s reported per index: enough to start with, few enough for a list. */
const idsMax = 100;
/** Violated indexes that a description names. */
const namedMax = 5;

/** Documents on the destination that violate an index which must become unique. */
export interface UniqueViolation {
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
export async function violationOf(
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
  return { namespace: namespaceOf(plan.entry), index: String(index.name), ids: ids.slice(0, idsMax).map(encodeValue) };
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
  const fields = Object.entries(keyValue).map(([path, value]) => ({ [path]: { $eq: value as unknown } }));
  const { partialFilterExpression, collation } = index as { partialFilterExpression?: Document; collation?: Document };
  const filter = { $and: [...fields, ...(partialFilterExpression === undefined ? [] : [partialFilterExpression])] };
  const command = {
    find: name,
    filter,
    projection: { _id: 1 },
    limit: idsMax,
    batchSize: idsMax,
    singleBatch: true,
    ...(collation && { collation }),
  };
  const reply = await client.command(database, command, { signal });
  return (reply.cursor as { firstBatch: { _id: unknown }[] }).firstBatch.map(({ _id }) => _id);
}
