import { createCollections } from '../catalog/make/create-collections.js';
import type { DestinationPlan } from '../catalog/plan/destination-plan.js';
import { listCollections } from '../catalog/read/list-namespaces.js';
import type { CatalogEntry } from '../catalog/namespace.js';
import type { NamespaceFilter } from '../catalog/namespace-filter.js';
import type { ClusterClient } from '../cluster/node-client.js';
import type { DdlChange } from '../store/ddl-journal.js';
import { adoptCapped } from './adopt-capped.js';
import { clearName, type DestinationDependencies, dropRecorded, renameRecorded } from './destination-collections.js';

/** What applying definitions needs. */
export interface ApplyDdlDependencies extends DestinationDependencies {
  destination: ClusterClient;
  filter: NamespaceFilter;
  /** The collection as the source has it now, with its shares' bounds; null when the database has none of this UUID. */
  readSource(database: string, uuid: string, signal: AbortSignal): Promise<CatalogEntry | null>;
  /** What is to be made for one collection. */
  plan(entry: CatalogEntry, signal: AbortSignal): Promise<DestinationPlan>;
  /** The followed collection as it was made, or null. */
  entryOf(uuid: string): CatalogEntry | null;
}

/**
 * Carries one definition change out on the destination, by UUID. May be repeated by a later leader at every step: each
 * looks first at what is there, and nothing has been written to a collection before its entry is done.
 * @returns the collection as it stands on the destination; null when it was dropped or never came to be
 * @throws what the doors and `createCollections` throw
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
    // Its creation came to nothing: so does its renaming.
    if (entry === null) return null;
    await renameRecorded(deps, { database, name }, to, uuid, signal);
    return { ...entry, ...to };
  }
  if (operation !== 'drop') return make(deps, ddlChange, signal);
  await dropRecorded(deps, database, uuid, signal);
  return null;
}

/** Makes an empty collection under the entry's name, as the source has it by now under whatever name. */
async function make(
  deps: ApplyDdlDependencies,
  { database, name, uuid }: DdlChange,
  signal: AbortSignal,
): Promise<CatalogEntry | null> {
  const { destination, filter, pairs } = deps;
  // What stands there is to be made anew, or was made by an earlier try and may have another form by now.
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

/** Capped collections may have another UUID by now than was recorded. */
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
