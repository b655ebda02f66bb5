import { createCollections } from '../catalog/create-collections.js';
import type { DestinationPlan } from '../catalog/destination-plan.js';
import { listCollections } from '../catalog/list-namespaces.js';
import type { NamespaceFilter } from '../catalog/namespace-filter.js';
import type { NamespaceRemap } from '../catalog/namespace-remap.js';
import type { CatalogEntry } from '../catalog/namespace.js';
import type { Namespace } from '../cluster/node-client.js';
import type { DdlEntry } from '../store/ddl-journal.js';
import {
  adoptCapped,
  clearName,
  dropRecorded,
  type LedDestination,
  renameRecorded,
} from './destination-collections.js';

/** Dependencies of applying DDL changes. */
export interface ApplyDdlDependencies extends LedDestination {
  filter: NamespaceFilter;
  remap: NamespaceRemap;
  /**
   * The collection as the source has it now, with the bounds of its sync tasks; null if the database has none of this
   * UUID.
   */
  readSource(database: string, uuid: string, signal: AbortSignal): Promise<CatalogEntry | null>;
  /** The plan for one collection. */
  plan(collection: CatalogEntry, signal: AbortSignal): Promise<DestinationPlan>;
  /** The created collection to follow, or null. */
  entryOf(uuid: string): CatalogEntry | null;
}

/**
 * Applies one DDL change on the destination, by UUID. A later leader may repeat any step: each first checks what
 * exists, and nothing is written to a collection before its entry is done.
 * @returns the collection as it is on the destination; null if it was dropped or never created
 * @throws what the clients and `createCollections` throw
 */
export async function applyDdlChange(
  deps: ApplyDdlDependencies,
  entry: DdlEntry,
  signal: AbortSignal,
): Promise<CatalogEntry | null> {
  const { operation, uuid, to, droppedUuid } = entry;
  await adoptConcerned(deps, entry, signal);
  if (droppedUuid !== null) await dropCounterpart(deps, droppedUuid, to ?? entry, signal);
  if (operation === 'rename' && to !== null) {
    const collection = deps.entryOf(uuid);
    // The collection was never created, so there is nothing to rename.
    if (collection === null) return null;
    const [from, there] = [deps.remap.toDestination(entry), deps.remap.toDestination(to)];
    await renameRecorded(deps, from, there, uuid, signal);
    return { ...collection, ...to };
  }
  await dropCounterpart(deps, uuid, entry, signal);
  return operation === 'drop' ? null : make(deps, uuid, to ?? entry, signal);
}

/**
 * Creates an empty collection under a name of the source, as the source has it now under any name.
 * @param namespace its name once the entry is applied
 */
async function make(
  deps: ApplyDdlDependencies,
  uuid: string,
  { database, name }: Namespace,
  signal: AbortSignal,
): Promise<CatalogEntry | null> {
  const { destination, filter, pairs, remap } = deps;
  // An existing collection must be recreated, or is from an earlier attempt and may differ by now.
  await dropCounterpart(deps, uuid, { database, name }, signal);
  const found = await deps.readSource(database, uuid, signal);
  if (found === null || !filter.includes(found.database, found.name)) return null;
  const collection: CatalogEntry = { ...found, database, name };
  const there = remap.toDestination(collection);
  await clearName(deps, there.database, there.name, signal);
  const plan = await deps.plan(collection, signal);
  await deps.confirm(signal);
  const { skip, builds } = deps;
  await createCollections({ destination, signal, confirm: () => deps.confirm(signal), skip, builds }, plan);
  const [made] = await listCollections(destination.router, there.database, signal, there.name);
  if (made !== undefined) await pairs.record([{ sourceUuid: uuid, destinationUuid: made.uuid }], signal);
  return collection;
}

/** Drops what corresponds to a source collection. One that was never made may have no name on the destination. */
async function dropCounterpart(
  deps: ApplyDdlDependencies,
  uuid: string,
  source: Namespace,
  signal: AbortSignal,
): Promise<void> {
  if (deps.pairs.destinationOf(uuid) === null) return;
  await dropRecorded(deps, deps.remap.toDestination(source).database, uuid, signal);
}

/** A capped collection may have another UUID than the recorded one. */
async function adoptConcerned(deps: ApplyDdlDependencies, entry: DdlEntry, signal: AbortSignal): Promise<void> {
  const { uuid, droppedUuid, to } = entry;
  const { remap, pairs, destination } = deps;
  const concerned = [uuid, droppedUuid].flatMap((one) => (one === null ? [] : (deps.entryOf(one) ?? [])));
  if (!concerned.some(({ options }) => options.capped === true)) return;
  const made = concerned.map((collection) => remap.onDestination(collection));
  for (const each of new Set([entry, to ?? entry].map((source) => remap.toDestination(source).database))) {
    await adoptCapped(pairs, made, await listCollections(destination.router, each, signal), signal);
  }
}
