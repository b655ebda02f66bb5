import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { systemClock, within } from '../../async/clock.js';
import { type Retrying, retryingFor } from '../../async/retry.js';
import { unreachable, UnreachableClusterError } from '../../cluster/connection-failure.js';
import { codeOf } from '../../cluster/failure.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { writeBlockVersion } from '../../cluster/write-block.js';
import type { InstanceConfig } from '../../config/instance-schema.js';
import { engineFailures } from '../../store/fenced-writer.js';
import { Metadata } from '../../store/metadata.js';
import { type MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import { type ClusterName, type Connect, connectConfigured, sparesOther } from '../migration/clusters.js';
import { setOrExplain, sideOf, wantedBlocks } from '../migration/write-blocks.js';

/** An operator waits: a longer failure ends the command. */
const retry_ms = 30_000;
/** Time for a cluster to answer that may be gone for good. */
const gone_ms = 5_000;

/**
 * Allows user writes on a cluster again, unless a running migration needs them blocked. After the opening of the
 * destination, an unreachable source is ignored: it may be gone.
 * @throws ConvoyError `migrationLives` in that case, `writeBlockingFailed` when the cluster refuses or its version has
 *   no such blocks, `sourceUnavailable` and `destinationUnavailable`, what else connecting to either cluster throws
 */
export async function unblock(
  config: InstanceConfig,
  name: ClusterName,
  signal: AbortSignal,
  connect: Connect = connectConfigured,
): Promise<void> {
  const retry = retryingFor(retry_ms, engineFailures);
  // The driver waits for a primary; a cluster that it does not find then is named at once.
  const open = (one: ClusterName, each: AbortSignal) => connect(config, one, 'router', each);
  const cluster = await open(name, signal).catch(explain);
  try {
    const openOther = (each: AbortSignal) => open(name === 'cluster0' ? 'cluster1' : 'cluster0', each);
    const mayLackOther = sparesOther(await recordOn(cluster, retry, signal), cluster);
    const other = mayLackOther ? await unlessGone(openOther, retry, signal) : await openOther(signal).catch(explain);
    try {
      await lift(cluster, other, retry, signal);
    } finally {
      await other?.close();
    }
  } finally {
    await cluster.close();
  }
}

/**
 * Either cluster can have either role here, so the sentence has none.
 * @throws ConvoyError `sourceUnavailable` for cluster0 and `destinationUnavailable` for cluster1
 */
function explain(error: unknown): never {
  if (!(error instanceof UnreachableClusterError)) throw error;
  throw new ConvoyError(error.error, unreachable(error.cluster, error.failure), { cause: error });
}

/** A cluster that answers although nothing needs it any more: another migration may have started towards it. */
async function unlessGone(
  open: (signal: AbortSignal) => Promise<ClusterClient>,
  retry: Retrying,
  signal: AbortSignal,
): Promise<ClusterClient | null> {
  const look = async (each: AbortSignal) => {
    const cluster = await open(each);
    try {
      await recordOn(cluster, retry, each);
      each.throwIfAborted();
      return cluster;
    } catch (error) {
      await cluster.close();
      throw error;
    }
  };
  try {
    return await within(gone_ms, systemClock, look, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConvoyError || codeOf(error) !== null) throw error;
    return null;
  }
}

/**
 * Checks once more afterwards: a migration may have blocked the cluster just before the command reached it.
 * @param other null when it is gone
 * @throws ConvoyError `migrationLives`, `writeBlockingFailed`
 */
export async function lift(
  cluster: ClusterClient,
  other: ClusterClient | null,
  retry: Retrying,
  signal: AbortSignal,
): Promise<void> {
  if (cluster.version[0] < writeBlockVersion) {
    throw new ConvoyError(
      'writeBlockingFailed',
      `${cluster.name} runs ${cluster.version.join('.')}: servers before ${writeBlockVersion}.0 have no ` +
        'block of user writes, so there is none to lift. Something else refuses the writes.',
    );
  }
  const set = (blocked: boolean) =>
    retry(
      `${blocked ? 'block' : 'allow'} user writes on ${cluster.name}`,
      () => setOrExplain(cluster, blocked),
      signal,
    );
  const side = async () =>
    (await neededAs(cluster, cluster, retry, signal)) ??
    (other === null ? null : neededAs(cluster, other, retry, signal));
  for (let needed = await side(); ; needed = await side()) {
    if (needed !== null) {
      throw new ConvoyError(
        'migrationLives',
        `${cluster.name} is the ${needed} of a running migration that needs user writes blocked. ` +
          'Let it finish, or stop its instances and run convoy cleanup.',
      );
    }
    await set(false);
    if ((await side()) === null) return;
    await set(true);
  }
}

/** The role for which the migration on the destination needs this cluster blocked; null when it does not. */
async function neededAs(
  cluster: ClusterClient,
  destination: ClusterClient,
  retry: Retrying,
  signal: AbortSignal,
): Promise<'source' | 'destination' | null> {
  const record = await recordOn(destination, retry, signal);
  if (record === null || record.failure !== null || record.phase === 'committed') return null;
  const side = sideOf(record, cluster.clusterId);
  return side !== null && wantedBlocks(record)[side] === true ? side : null;
}

function recordOn({ router }: ClusterClient, retry: Retrying, signal: AbortSignal): Promise<MigrationRecord | null> {
  return new MigrationRecords(new Metadata(router, retry)).read(signal);
}
