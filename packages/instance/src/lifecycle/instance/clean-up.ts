import { blockedClusters } from '@convoy/api/contract/write-blocking';
import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { type Retrying, retryingFor } from '../../async/retry.js';
import { listCollections } from '../../catalog/list-namespaces.js';
import { findOwnZones } from '../../catalog/place-chunks.js';
import { checkMembers, type CleanupStep, cleanupSteps } from '../../cleanup/cleanup-steps.js';
import { asUnavailable, UnreachableClusterError } from '../../cluster/connection-failure.js';
import { isNetworkFailure } from '../../cluster/failure.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { InstanceConfig } from '../../config/instance-schema.js';
import { engineFailures } from '../../store/fenced-writer.js';
import { Metadata, metadataDatabase } from '../../store/metadata.js';
import { type MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import { homeOf, swapsOf } from '../../store/reversal.js';
import { TaskRecords } from '../../store/task-record.js';
import { type ClusterName, connectConfigured } from '../migration/clusters.js';
import { refuseUnreadable, release } from '../migration/release.js';
import { setOrExplain } from '../migration/write-blocks.js';

/** An operator waits: a longer failure ends the command. */
const retry_ms = 60_000;
/** Processes read the state once a second; a busy machine takes longer. */
const answerWithin_ms = 10_000;

/** What a migration has left, and how a cleanup would remove it. */
export interface CleanupPlan {
  /** The migration in one sentence; null when there is nothing to clean up. */
  found: string | null;
  steps: readonly CleanupStep[];
  /** What a cleanup leaves unchanged. */
  remarks: readonly string[];
}

/**
 * Plans the cleanup of a migration, has the plan confirmed, and carries it out.
 * @param destination the cluster that was migrated to
 * @param agree receives the plan first; only true lets the cleanup change anything
 * @returns whether everything was done
 * @throws ConvoyError `destinationUnavailable`, `sourceUnavailable` or `wrongCluster`; `migrationLives` while processes
 *   of the migration work or have to finish it; `writeBlockingFailed` when a cluster refuses to allow user writes: the
 *   cleanup can be repeated
 */
export async function cleanUp(
  config: InstanceConfig,
  destination: ClusterName,
  agree: (plan: CleanupPlan) => Promise<boolean>,
  signal: AbortSignal,
  limits: { answerWithin_ms: number } = { answerWithin_ms },
): Promise<boolean> {
  const retry = retryingFor(retry_ms, engineFailures);
  // The driver waits for a primary; a cluster that it does not find then is named at once.
  const connect: ConnectByName = (name) => connectConfigured(config, name, 'router', signal);
  const found = await findMigration(connect, destination, retry, signal).catch((error: unknown) => {
    throw error instanceof UnreachableClusterError
      ? asUnavailable(error.cluster === destination ? 'destination' : 'source', error.cluster, error)
      : error;
  });
  const { record, home, other } = found;
  try {
    const metadata = new Metadata(home.router, retry);
    const [records, tasks] = [new MigrationRecords(metadata), new TaskRecords(metadata)];
    if (record !== null) await refuseLive(records, tasks, record, limits.answerWithin_ms, signal);
    const sides = sidesOf(found);
    const stored = {
      home: await metadataOn(home, signal),
      other: other === null ? [] : await metadataOn(other, signal),
    };
    const zones = await findOwnZones(sides.destination, signal);
    const allowWrites = (cluster: ClusterClient, attempt: AbortSignal) => setOrExplain(cluster, false, attempt);
    const steps = cleanupSteps({
      record,
      ...sides,
      home,
      other,
      records,
      tasks,
      zones,
      metadata: stored,
      retrying: retry,
      allowWrites,
    });
    const plan = {
      found: steps.length === 0 ? null : describe(record),
      steps,
      remarks: remarksOn(record, sides.destination),
    };
    if (!(await agree(plan))) return false;
    for (const step of steps) await retry(step.description, () => step.run(signal), signal);
    return true;
  } finally {
    await Promise.all([home.close(), other?.close()]);
  }
}

/** The clusters by their roles; without a migration, the inspected cluster is the destination. */
function sidesOf({ record, home, other }: FoundMigration): {
  source: ClusterClient | null;
  destination: ClusterClient;
} {
  const isOfHome = record === null || record.destination.clusterId === home.clusterId;
  return isOfHome || other === null ? { source: other, destination: home } : { source: home, destination: other };
}

/** A finished migration has no work left, whatever its processes still answer. */
async function refuseLive(
  records: MigrationRecords,
  tasks: TaskRecords,
  record: MigrationRecord,
  within_ms: number,
  signal: AbortSignal,
): Promise<void> {
  if (record.phase === 'committed' || record.failure !== null) return;
  if (record.phase === 'opening') {
    throw new ConvoyError(
      'migrationLives',
      'The commit is decided and must finish: start the instances again, and clean up once they are COMMITTED.',
    );
  }
  const present = await checkMembers(records, tasks, within_ms, signal);
  if (present.length === 0) return;
  throw new ConvoyError(
    'migrationLives',
    `The migration is at work (${present.join(', ')} answered): let it finish, or stop all its instances first.`,
  );
}

function describe(record: MigrationRecord | null): string {
  if (record === null) return 'Remains of a migration that was cleaned up before.';
  const way = `The migration from ${record.source.name} to ${record.destination.name}`;
  if (record.failure !== null) return `${way} has failed: ${record.failure.error}: ${record.failure.errorDescription}`;
  return record.phase === 'committed'
    ? `${way} is committed.`
    : `${way} has not ended, and none of its instances is at work.`;
}

function remarksOn(record: MigrationRecord | null, destination: ClusterClient): string[] {
  if (record === null) return [];
  if (record.phase !== 'committed' && swapsOf(record) > 0) {
    return [
      `The changes replayed to ${destination.name} stay there; it keeps refusing user writes. ` +
        `${record.source.name} has everything.`,
    ];
  }
  if (record.phase !== 'committed') {
    return [
      `The copied collections stay on ${destination.name}, with indexes and options in their temporary ` +
        'form: drop them before the next start.',
    ];
  }
  const ended = record.reversal ? ['The migration can then no longer be reversed.'] : [];
  return blockedClusters(record.options.enableUserWriteBlocking).source
    ? [
        ...ended,
        `The block of user writes on ${record.source.name} stays as it is; to lift it, run: ` +
          `convoy unblock ${record.source.name}`,
      ]
    : ended;
}

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
