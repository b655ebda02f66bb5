import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CatalogChange } from '../catalog/catalog-changes.js';
import { namespaceOf } from '../catalog/namespace.js';
import type { NamespaceFilter } from '../catalog/namespace-filter.js';

/** What of a definition event decides whether it concerns the migration. */
export interface SeenDefinition {
  operation: string;
  database: string;
  name: string;
  to: { database: string; name: string } | null;
}

/** Changes named in one description. */
const changesNamedMax = 5;

/**
 * Refuses a definition change of migrated namespaces that a change stream shows: this release cannot follow it.
 * A shard's own notices (`kNewShardDetected`) name no namespace and are left to the comparison of catalogs.
 * @throws ConvoyError `ddlNotSupported`
 */
export function refuseDefinition(event: SeenDefinition, filter: NamespaceFilter): void {
  if (event.database === '') return;
  const concerned = event.name === '' ? filter.mayInclude(event.database) : filter.includes(event.database, event.name);
  const targetConcerned = event.to !== null && filter.includes(event.to.database, event.to.name);
  if (!concerned && !targetConcerned) return;
  const target = event.to === null ? '' : ` to ${event.to.database}.${event.to.name}`;
  const namespace = event.name === '' ? event.database : `${event.database}.${event.name}`;
  throw new ConvoyError('ddlNotSupported', `The source saw ${event.operation} of ${namespace}${target}, which this release cannot follow. Start anew without definition changes.`);
}

/**
 * Refuses changes of a collection that was not there at the start.
 * @throws ConvoyError `ddlNotSupported`
 */
export function refuseNewCollection(database: string, name: string): never {
  throw new ConvoyError('ddlNotSupported', `${database}.${name} was created on the source during the migration, which this release cannot follow. Start anew with it.`);
}

/**
 * Refuses what two readings of the source's catalog show to have changed; finds what change streams do not show.
 * @throws ConvoyError `chunkMigrationSeen`, `primaryShardChanged`, `shardKeyChanged` or `ddlNotSupported`
 */
export function refuseCatalogChanges(changes: readonly CatalogChange[]): void {
  const first = changes[0];
  if (first === undefined) return;
  const named = changes.slice(0, changesNamedMax).map((change) => `${change.kind} ${namespaceOf(change.entry)}`);
  const more = changes.length > named.length ? ` and ${changes.length - named.length} more` : '';
  const found = `Since the start the source's catalog has changed: ${named.join(', ')}${more}.`;
  if (changes.some((change) => change.kind === 'chunksMoved')) {
    throw new ConvoyError('chunkMigrationSeen', `${found} Stop every balancer and start anew.`);
  }
  if (changes.some((change) => change.kind === 'primaryShard')) throw new ConvoyError('primaryShardChanged', `${found} Start anew.`);
  if (changes.some((change) => change.kind === 'shardKey')) throw new ConvoyError('shardKeyChanged', `${found} Start anew.`);
  throw new ConvoyError('ddlNotSupported', `${found} This release cannot follow it; start anew.`);
}
