import { createCollections } from '../catalog/make/create-collections.js';
import type { DestinationPlan } from '../catalog/plan/destination-plan.js';
import { listCollections } from '../catalog/read/list-namespaces.js';
import type { CatalogEntry } from '../catalog/namespace.js';
import type { NamespaceFilter } from '../catalog/namespace-filter.js';
import type { Cluster } from '../cluster/door.js';
import type { Definition } from '../store/definition-journal.js';
import { adoptCapped } from './adopt-capped.js';
import { clearName, type DestinationContext, dropRecorded, renameRecorded } from './destination-collections.js';

/** What applying definitions needs. */
export interface ApplyDefinitionContext extends DestinationContext {
  destination: Cluster;
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
export async function applyDefinition(context: ApplyDefinitionContext, definition: Definition, signal: AbortSignal): Promise<CatalogEntry | null> {
  const { operation, uuid, database, name, to, droppedUuid } = definition;
  await adoptConcerned(context, definition, signal);
  if (droppedUuid !== null) await dropRecorded(context, (to ?? definition).database, droppedUuid, signal);
  if (operation === 'rename' && to !== null) {
    const entry = context.entryOf(uuid);
    // Its creation came to nothing: so does its renaming.
    if (entry === null) return null;
    await renameRecorded(context, { database, name }, to, uuid, signal);
    return { ...entry, ...to };
  }
  if (operation !== 'drop') return make(context, definition, signal);
  await dropRecorded(context, database, uuid, signal);
  return null;
}

/** Makes an empty collection under the entry's name, as the source has it by now under whatever name. */
async function make(context: ApplyDefinitionContext, { database, name, uuid }: Definition, signal: AbortSignal): Promise<CatalogEntry | null> {
  const { destination, filter, pairs } = context;
  // What stands there is to be made anew, or was made by an earlier try and may have another form by now.
  await dropRecorded(context, database, uuid, signal);
  const found = await context.readSource(database, uuid, signal);
  if (found === null || !filter.includes(found.database, found.name)) return null;
  const entry: CatalogEntry = { ...found, database, name };
  await clearName(context, database, name, signal);
  const plan = await context.plan(entry, signal);
  await context.confirm(signal);
  await createCollections({ destination, plan, signal, confirm: () => context.confirm(signal) });
  const [made] = await listCollections(destination.router, database, signal, name);
  if (made !== undefined) await pairs.record([{ sourceUuid: uuid, destinationUuid: made.uuid }], signal);
  return entry;
}

/** Capped collections may have another UUID by now than was recorded. */
async function adoptConcerned(context: ApplyDefinitionContext, { uuid, droppedUuid, database, to }: Definition, signal: AbortSignal): Promise<void> {
  const concerned = [uuid, droppedUuid].flatMap((one) => (one === null ? [] : (context.entryOf(one) ?? [])));
  if (!concerned.some(({ options }) => options.capped === true)) return;
  for (const each of new Set([database, (to ?? { database }).database])) {
    await adoptCapped(context.pairs, concerned, await listCollections(context.destination.router, each, signal), signal);
  }
}
