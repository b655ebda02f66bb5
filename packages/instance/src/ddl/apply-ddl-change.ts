import { createCollections } from '../catalog/make/create-collections.js';
import type { DestinationPlan } from '../catalog/plan/destination-plan.js';
import { listCollections } from '../catalog/read/list-namespaces.js';
import type { CatalogEntry } from '../catalog/namespace.js';
import type { NamespaceFilter } from '../catalog/namespace-filter.js';
import type { ClusterClient } from '../cluster/node-client.js';
import type { DdlChange } from '../store/ddl-journal.js';
import { adoptCapped } from './adopt-capped.js';
import { clearName, type DestinationDependencies, dropRecorded, renameRecorded } from './destination-collections.js';

/** Dependencies of applying DDL changes. */
export interface ApplyDdlDependencies extends DestinationDependencies {
  destination: ClusterClient;
  filter: NamespaceFilter;
  /**
   * The collection as the source has it now, with the bounds of its sync tasks; null if the database has none of this
   * UUID.
   */
  readSource(database: string, uuid: string, signal: AbortSignal): Promise<CatalogEntry | null>;
  /** The plan for one collection. */
  plan(entry: CatalogEntry, signal: AbortSignal): Promise<DestinationPlan>;
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
  ddlChange: DdlChange,
  signal: AbortSignal,
): Promise<CatalogEntry | null> {
  const { operation, uuid, database, name, to, droppedUuid } = ddlChange;
  await adoptConcerned(deps, ddlChange, signal);
  if (droppedUuid !== null) await dropRecorded(deps, (to ?? ddlChange).database, droppedUuid, signal);
  if (operation === 'rename' && to !== null) {
    const entry = deps.entryOf(uuid);
    // The collection was never created, so there is nothing to rename.
    if (entry === null) return null;
    await renameRecorded(deps, { database, name }, to, uuid, signal);
    return { ...entry, ...to };
  }
  if (operation !== 'drop') return make(deps, ddlChange, signal);
  await dropRecorded(deps, database, uuid, signal);
  return null;
}

/** Creates an empty collection under the entry's name, as the source has it now under any name. */
async function make(
  deps: ApplyDdlDependencies,
  { database, name, uuid }: DdlChange,
  signal: AbortSignal,
): Promise<CatalogEntry | null> {
  const { destination, filter, pairs } = deps;
  // An existing collection must be recreated, or is from an earlier attempt and may differ by now.
  await dropRecorded(deps, database, uuid, signal);
  const found = await deps.readSource(database, uuid, signal);
  if (found === null || !filter.includes(found.database, found.name)) return null;
  const entry: CatalogEntry = { ...found, database, name };
  await clearName(deps, database, name, signal);
  const plan = await deps.plan(entry, signal);
  await deps.confirm(signal);
  await createCollections({ destination, plan, signal, confirm: () => deps.confirm(signal) });
  const [made] = await listCollections(destination.router, database, signal, name);
  if (made !== undefined) await pairs.record([{ sourceUuid: uuid, destinationUuid: made.uuid }], signal);
  return entry;
}

/** A capped collection may have another UUID than the recorded one. */
async function adoptConcerned(
  deps: ApplyDdlDependencies,
  { uuid, droppedUuid, database, to }: DdlChange,
  signal: AbortSignal,
): Promise<void> {
  const concerned = [uuid, droppedUuid].flatMap((one) => (one === null ? [] : (deps.entryOf(one) ?? [])));
  if (!concerned.some(({ options }) => options.capped === true)) return;
  for (const each of new Set([database, (to ?? { database }).database])) {
    await adoptCapped(deps.pairs, concerned, await listCollections(deps.destination.router, each, signal), signal);
  }
}
