import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import type { NodeClient } from '../../cluster/node-client.js';
import { failureName, codeOf } from '../../cluster/failure.js';
import { canonicalText } from '../canonical-text.js';
import { buildSpecification, portableIndex, TTL_OFF_SECONDS } from '../index-spec.js';
import type { CollectionPlan } from '../plan/destination-plan.js';
import { namespaceOf } from '../namespace.js';
import { listIndexes } from '../read/read-indexes.js';
import { serverCode } from '../server-code.js';

const MILLISECONDS_PER_SECOND = 1_000;

/** The cluster on which indexes are built, and the caller's limits. */
export interface IndexBuilding {
  client: NodeClient;
  signal: AbortSignal;
  /** Called before every change: throws if another leader has taken over, so that this one changes nothing more. */
  confirm: () => Promise<void>;
  /** Command fields that identify the collection by its UUID, on servers that support it. */
  meaning?: Document;
}

/**
 * Builds the given indexes of one collection, in their temporary form, in one command; existing ones stay unchanged.
 * Disables TTL indexes right after.
 * @param wanted temporary forms of `plan.indexes`
 * @returns how many indexes were missing
 * @throws ConvoyError `indexNotSupported` if the server refuses an index, `catalogDiffers` if another index has its
 * name
 */
export async function buildIndexes(
  building: IndexBuilding,
  plan: CollectionPlan,
  wanted: readonly Document[],
): Promise<number> {
  const { client, signal, confirm, meaning } = building;
  if (wanted.length === 0) return 0;
  const { database, name } = plan.entry;
  const namespace = namespaceOf(plan.entry);
  const present = await presentIndexes(client, database, name, signal);
  const missing = wanted.filter((index) => !isPresent(namespace, index, present));
  if (missing.length > 0) await createIndexes(building, plan, missing);
  for (const index of wanted) {
    const isOff = present.get(index.name as string)?.expireAfterSeconds === TTL_OFF_SECONDS;
    if (index.expireAfterSeconds !== TTL_OFF_SECONDS || isOff) continue;
    await confirm();
    await changeIndex(
      client,
      plan.entry,
      { name: index.name as string, expireAfterSeconds: TTL_OFF_SECONDS },
      signal,
      meaning,
    );
  }
  return missing.length;
}

/** The indexes of a collection by name, in portable form. */
export async function presentIndexes(
  client: NodeClient,
  database: string,
  collection: string,
  signal: AbortSignal,
): Promise<Map<string, Document>> {
  const listed = (await listIndexes(client, database, collection, signal)) ?? [];
  const namespace = `${database}.${collection}`;
  return new Map(listed.map((index) => [index.name as string, portableIndex(namespace, index).index]));
}

/** Runs `collMod` on one index. */
export async function changeIndex(
  client: NodeClient,
  collection: { database: string; name: string },
  index: Document,
  signal: AbortSignal,
  meaning: Document = {},
): Promise<void> {
  const command = { collMod: collection.name, index, ...meaning, writeConcern: { w: 'majority' } };
  await client.command(collection.database, command, { signal });
}

/** Runs `createIndexes` with the specifications that give exactly these indexes. Throws the server's error. */
export async function sendCreateIndexes(
  client: NodeClient,
  plan: CollectionPlan,
  indexes: readonly Document[],
  signal: AbortSignal,
  meaning: Document = {},
): Promise<void> {
  const now_seconds = Date.now() / MILLISECONDS_PER_SECOND;
  const specifications = indexes.map((index) => buildSpecification(index, plan.options.collation, now_seconds));
  const command = {
    createIndexes: plan.entry.name,
    indexes: specifications,
    ...meaning,
    writeConcern: { w: 'majority' },
  };
  await client.command(plan.entry.database, command, { signal });
}

async function createIndexes(
  { client, signal, confirm, meaning }: IndexBuilding,
  plan: CollectionPlan,
  missing: readonly Document[],
): Promise<void> {
  await confirm();
  try {
    await sendCreateIndexes(client, plan, missing, signal, meaning);
  } catch (failure) {
    if (!REFUSALS.has(codeOf(failure))) throw failure;
    // If the command was repeated, its first attempt may have built some: the refusal is about what is still missing.
    const present = await presentIndexes(client, plan.entry.database, plan.entry.name, signal);
    const refused = missing.filter((index) => !isPresent(namespaceOf(plan.entry), index, present));
    if (refused.length === 0) return;
    const names = refused.map((index) => String(index.name)).join(', ');
    throw new ConvoyError(
      'indexNotSupported',
      `The destination refused to build ${names} of ${namespaceOf(plan.entry)}: ${failureName(failure)}.`,
      { cause: failure },
    );
  }
}

/** Codes that report an invalid specification; all others are left to the caller, which may retry. */
const REFUSALS: ReadonlySet<number | null> = new Set([
  serverCode.badValue,
  serverCode.typeMismatch,
  serverCode.cannotCreateIndex,
  serverCode.indexAlreadyExists,
  serverCode.invalidOptions,
  serverCode.indexOptionsConflict,
  serverCode.indexKeySpecsConflict,
  serverCode.invalidIndexSpecificationOption,
  serverCode.unknownField,
  serverCode.twoHashedFields,
]);

function isPresent(namespace: string, wanted: Document, present: ReadonlyMap<string, Document>): boolean {
  const found = present.get(wanted.name as string);
  if (found === undefined) return false;
  if (isBuiltAs(found, wanted)) return true;
  throw new ConvoyError(
    'catalogDiffers',
    `The destination has a different index named ${String(wanted.name)} on ${namespace}.`,
  );
}

/** Whether an existing index is the wanted one; the seconds of a TTL index are set later. Both in portable form. */
export function isBuiltAs(a: Document, b: Document): boolean {
  const { expireAfterSeconds: ttlA, ...restA } = a;
  const { expireAfterSeconds: ttlB, ...restB } = b;
  return (ttlA === undefined) === (ttlB === undefined) && canonicalText(restA) === canonicalText(restB);
}
