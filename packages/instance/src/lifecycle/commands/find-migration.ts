import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { listCollections } from '../../catalog/read/list-namespaces.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { isNetworkFailure } from '../../cluster/failure.js';
import type { Retrying } from '../../async/retry.js';
import { Metadata, metadataDatabase } from '../../store/metadata.js';
import { type MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import { homeOf, swapsOf } from '../../store/reversal.js';
import type { ClusterName } from '../migration/clusters.js';
import { refuseUnreadable, release } from '../migration/release.js';

/** A migration, as found from outside, with the clusters that hold anything of it. */
export interface FoundMigration {
  /** Null when there is none. */
  record: MigrationRecord | null;
  /** The cluster with its state, or where it was searched for. */
  home: ClusterClient;
  /** The other cluster; null where nothing is to do there, or it is gone. */
  other: ClusterClient | null;
}

/** Connects to a configured cluster. */
export type ConnectByName = (name: ClusterName) => Promise<ClusterClient>;

/**
 * Finds the state of a migration on a cluster, or on the other one where the first only holds what a reverse needs. A
 * committed migration that was not reversed needs nothing of its source, which may be gone for good.
 * @throws ConvoyError `wrongCluster`, `metadataFromNewerRelease`, `metadataFromOlderRelease`; what connecting throws
 */
export async function findMigration(
  connect: ConnectByName,
  named: ClusterName,
  retrying: Retrying,
  signal: AbortSignal,
): Promise<FoundMigration> {
  const home = await connect(named);
  const opened: ClusterClient[] = [home];
  const open = async (name: ClusterName) => {
    const cluster = await connect(name);
    opened.push(cluster);
    return cluster;
  };
  try {
    const record = await recordOn(home, retrying, signal);
    const otherName = named === 'cluster0' ? 'cluster1' : 'cluster0';
    if (record !== null) return { record, home, other: await otherOf(record, home, () => open(otherName)) };
    if ((await metadataOn(home, signal)).length === 0) return { record, home, other: null };
    const other = await open(otherName);
    const elsewhere = await recordOn(other, retrying, signal);
    if (elsewhere !== null && isAbout(elsewhere, home)) return { record: elsewhere, home: other, other: home };
    await other.close();
    return { record, home, other: null };
  } catch (error) {
    await Promise.all(opened.map((cluster) => cluster.close()));
    throw error;
  }
}

/** Names of the collections in Convoy's database. */
export async function metadataOn(cluster: ClusterClient, signal: AbortSignal): Promise<string[]> {
  return (await listCollections(cluster.router, metadataDatabase, signal)).map(({ name }) => name);
}

/** Refuses a state that was copied from another cluster, or that a later release has written. */
async function recordOn(
  cluster: ClusterClient,
  retrying: Retrying,
  signal: AbortSignal,
): Promise<MigrationRecord | null> {
  const record = await new MigrationRecords(new Metadata(cluster.router, retrying)).read(signal);
  if (record === null) return null;
  refuseUnreadable(record.release, release);
  if (homeOf(record).clusterId !== cluster.clusterId) throw new ConvoyError('wrongCluster');
  return record;
}

function isAbout(record: MigrationRecord, cluster: ClusterClient): boolean {
  return record.source.clusterId === cluster.clusterId || record.destination.clusterId === cluster.clusterId;
}

async function otherOf(
  record: MigrationRecord,
  home: ClusterClient,
  open: () => Promise<ClusterClient>,
): Promise<ClusterClient | null> {
  const isCommitted = record.phase === 'committed';
  if (isCommitted && swapsOf(record) === 0) return null;
  const mayBeGone = isCommitted && record.destination.clusterId === home.clusterId;
  const other = await open().catch((error: unknown) => {
    const isOutOfReach = isNetworkFailure(error) || isConvoyError(error, 'retriesExhausted');
    if (mayBeGone && isOutOfReach) return null;
    throw error;
  });
  if (other === null || isAbout(record, other)) return other;
  throw new ConvoyError(
    'wrongCluster',
    `${other.name} is not the cluster that the migration began with. Correct its connection string.`,
  );
}
