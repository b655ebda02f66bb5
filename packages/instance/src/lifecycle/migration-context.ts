import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Fleet } from '@convoy/api/fleet/fleet';
import type { Catalog } from '../catalog/namespace.js';
import { compileNamespaceFilter, type NamespaceFilter } from '../catalog/namespace-filter.js';
import { readCatalog } from '../catalog/read-catalog.js';
import { applyShardingEntries } from '../catalog/sharding-plan.js';
import { restoredEntry } from '../catalog/stored-catalog.js';
import type { IndexBuildProgress } from '../catalog/create-collections.js';
import type { Cluster } from '../cluster/door.js';
import type { Metadata } from '../store/metadata.js';
import type { MigrationRecords, MigrationRecord } from '../store/migration-record.js';
import type { ShareRecords } from '../store/share-record.js';
import { readStoredEntries } from '../store/share-storage.js';
import type { MigrationWatch } from './migration-watch.js';
import type { Runtime } from './runtime.js';

/** Everything that one process's part in a migration works with. */
export interface MigrationContext {
  runtime: Runtime;
  fleet: Fleet;
  source: Cluster;
  destination: Cluster;
  metadata: Metadata;
  records: MigrationRecords;
  shareRecords: ShareRecords;
  watch: MigrationWatch;
  /** Set by the leader's process while it makes collections and indexes. */
  onIndexProgress(progress: IndexBuildProgress): void;
}

/** The filter of a migration's options. */
export function filterOf(record: MigrationRecord): NamespaceFilter {
  return compileNamespaceFilter(record.options);
}

/** The source's catalog as it is now, with the requested shard keys laid over it. */
export async function readSourceCatalog(context: MigrationContext, signal: AbortSignal): Promise<Catalog> {
  const { record } = context.watch.view;
  const filter = filterOf(record);
  const catalog = await readCatalog(context.source, filter, signal);
  const { sharding } = record.options;
  return sharding === undefined ? catalog : applyShardingEntries(catalog, sharding, filter);
}

/** The source's catalog as it was when the migration began, once it is initialised. */
export async function readBegunCatalog(context: MigrationContext, signal: AbortSignal): Promise<Catalog> {
  const { catalogEpoch } = context.watch.view.record;
  if (catalogEpoch === null) throw new ConvoyError('internalError', 'The migration is not initialised.');
  return (await readStoredEntries(context.metadata, catalogEpoch, signal)).map(restoredEntry);
}
