import type { Warning } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import type { ClusterClient } from '../../cluster/node-client.js';
import { codeOf, failureName, serverErrorCode } from '../../cluster/failure.js';
import { buildIndexes } from './build-indexes.js';
import { makeDatabase } from './make-database.js';
import { createOptions, droppedWarning, optionDifferences } from '../collection-options.js';
import type { BuildsUnderWay } from './builds-under-way.js';
import type { SkipIndex } from './index-building.js';
import type { CollectionPlan } from '../plan/destination-plan.js';
import { holdsDocuments } from '../read/holds-documents.js';
import { supportingIndex } from '../plan/index-plan.js';
import { type KeyPattern, sameKey } from '../key-pattern.js';
import { listCollections, type ListedNamespace } from '../read/list-namespaces.js';
import { namespaceOf } from '../namespace.js';
import { placeChunks } from './place-chunks.js';
import { readConfig } from '../read/read-sharding.js';
import { namingView } from '../view-refusal.js';

/** A collection on the destination and the source collection it corresponds to. */
export interface CreatedCollection {
  database: string;
  name: string;
  /** 32 hexadecimal digits; both empty for views. */
  sourceUuid: string;
  destinationUuid: string;
}

/** The cluster on which collections are created, and the caller's limits. */
export interface Making {
  destination: ClusterClient;
  signal: AbortSignal;
  /** Called before every change: throws if another process has taken over, so that this one changes nothing more. */
  confirm: () => Promise<void>;
  /** Called when the destination refuses the storage options of a collection, which it then gets without them. */
  onWarning?: ((warning: Warning) => void) | undefined;
  /** Skips an index that the destination cannot build; absent: every index must be built. */
  skip?: SkipIndex | undefined;
  /** Shows the builds that are waited for. */
  builds?: BuildsUnderWay | undefined;
}

/**
 * Creates one collection or view as planned: `create`, the index its shard key needs, chunks on their shards, all other
 * indexes. Every step first checks what exists, so a repeated call continues after a crash. Nothing is dropped but an
 * emptied database in the way (`makeDatabase`).
 * The zones must exist (`addZones`) if the collection is sharded.
 * @throws ConvoyError `destinationNotEmpty` if something else has the name, or documents prevent sharding;
 * `indexNotSupported` and `catalogDiffers` from the indexes; `viewNotSupported` for a view that the destination
 * refuses; otherwise what the client throws
 */
export async function createCollection(making: Making, plan: CollectionPlan): Promise<CreatedCollection> {
  const { destination, signal, confirm, skip, builds } = making;
  const { database, name, uuid } = plan.entry;
  const created = await ensureCreated(making, plan);
  if (plan.entry.type === 'collection') {
    const temporary = plan.indexes.flatMap((index) => (index.temporary === null ? [] : [index.temporary]));
    if (plan.sharding !== null) await ensureSharded(making, plan, temporary);
    await buildIndexes({ client: destination.router, signal, confirm, skip, builds }, plan, temporary);
  }
  return { database, name, sourceUuid: uuid, destinationUuid: created.uuid };
}

async function ensureCreated(making: Making, plan: CollectionPlan): Promise<ListedNamespace> {
  const { destination, signal, confirm } = making;
  const present = await findNamespace(destination, plan, signal);
  if (present !== null) return present;
  await confirm();
  try {
    await sendCreate(making, plan, plan.storage);
  } catch (failure) {
    const isRefusal = STORAGE_REFUSALS.has(codeOf(failure)) && Object.keys(plan.storage).length > 0;
    if (!isRefusal) throw namingView(plan.entry, failure);
    await sendCreate(making, plan, {});
    making.onWarning?.(
      droppedWarning(plan.entry, Object.keys(plan.storage), `the destination refuses them (${failureName(failure)})`),
    );
  }
  const created = await findNamespace(destination, plan, signal);
  if (created === null)
    throw new ConvoyError(
      'destinationChanged',
      `${namespaceOf(plan.entry)} was dropped on the destination while Convoy was creating it.`,
    );
  return created;
}

/** Codes for an engine that a server does not have, and for settings that its engine does not know (seen on 5.0.7). */
const STORAGE_REFUSALS: ReadonlySet<number | null> = new Set([
  serverErrorCode.badValue,
  serverErrorCode.invalidOptions,
]);

async function sendCreate(making: Making, plan: CollectionPlan, storage: Document): Promise<void> {
  const { destination, signal } = making;
  const { entry, options } = plan;
  const command: Document = { create: entry.name, ...createOptions(options), ...storage };
  const send = (): Promise<Document> =>
    destination.router.command(entry.database, { ...command, writeConcern: { w: 'majority' } }, { signal });
  try {
    await makeDatabase(making, entry.database, send);
  } catch (failure) {
    if (codeOf(failure) !== serverErrorCode.namespaceExists) throw failure;
  }
}

/** The namespace of a plan on the destination if it exists in the planned form; null if it does not exist. */
async function findNamespace(
  destination: ClusterClient,
  plan: CollectionPlan,
  signal: AbortSignal,
): Promise<ListedNamespace | null> {
  const { entry } = plan;
  const [listed] = await listCollections(destination.router, entry.database, signal, entry.name);
  if (listed === undefined) return null;
  const differing =
    listed.type === entry.type
      ? optionDifferences(entry, { ...entry, options: listed.options }, 'temporary')
      : ['type'];
  if (differing.length === 0) return listed;
  throw new ConvoyError(
    'destinationNotEmpty',
    `The destination has ${namespaceOf(entry)} with different ${differing.join(', ')}; drop it there.`,
  );
}

async function ensureSharded(
  { destination, signal, confirm }: Making,
  plan: CollectionPlan,
  temporary: readonly Document[],
): Promise<void> {
  const { sharding, entry } = plan;
  if (sharding === null) return;
  const namespace = namespaceOf(entry);
  const [row] = await readConfig(destination.router, { find: 'collections', filter: { _id: namespace } }, signal);
  if (row !== undefined && row.dropped !== true && row.unsplittable !== true) {
    if (sameKey(row.key as KeyPattern, sharding.key)) return;
    throw new ConvoyError(
      'destinationNotEmpty',
      `The destination has ${namespace} with a different shard key; drop it there.`,
    );
  }
  if (await holdsDocuments(destination.router, entry, signal)) {
    throw new ConvoyError(
      'destinationNotEmpty',
      `The destination already has documents in ${namespace}, so its chunks cannot be placed; drop it there.`,
    );
  }
  const supporting = supportingIndex(temporary, sharding.key, sharding.unique);
  if (supporting !== undefined) await buildIndexes({ client: destination.router, signal, confirm }, plan, [supporting]);
  await confirm();
  await placeChunks(destination, plan, signal);
}
