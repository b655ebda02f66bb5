import type { Document } from 'mongodb';
import type { CallOptions, ClusterClient, NodeClient } from './node-client.js';
import { classify, codeOf } from './failure.js';

/** First release with user write blocking, on either side. */
export const writeBlockVersion = 6;

/** How `serverStatus` shows an active block. */
const standingMode = 2;
/**
 * Reasons of a block, from 8.0.13, 8.1.2 and 8.2 on, by the number in `serverStatus` (server test:
 * user_write_blocking).
 */
const reasons = ['Unspecified', 'ClusterToClusterMigrationInProgress', 'DiskUseThresholdExceeded'];

/** An active block of user writes. */
interface StandingBlock {
  /** Why another client set it; null for a block without a reason, as Convoy's own. */
  foreignReason: string | null;
}

/**
 * Blocks the writes of users to a whole cluster, or allows them again (`setUserWriteBlockMode`, 6.0). Users with the
 * privilege `bypassWriteBlockingMode` can still write. May be repeated. An existing block is not set again: that would
 * wait for all open transactions once more, delay all others and abort index builds.
 */
export async function setWriteBlock(cluster: ClusterClient, blocked: boolean, options: CallOptions): Promise<void> {
  if (blocked && (await standingBlock(cluster, options))?.foreignReason === null) return;
  await cluster.router.command('admin', { setUserWriteBlockMode: 1, global: blocked }, options);
}

/** The block that a cluster shows; null if there is none or it cannot be read. */
export async function standingBlock(
  { kind, router }: ClusterClient,
  options: CallOptions,
): Promise<StandingBlock | null> {
  try {
    return kind === 'replicaSet' ? await blockOfReplicaSet(router, options) : await blockOfShards(router, options);
  } catch (error) {
    if (codeOf(error) === null || classify(error) === 'retryable') throw error;
    return null;
  }
}

async function blockOfReplicaSet(router: NodeClient, options: CallOptions): Promise<StandingBlock | null> {
  const { repl } = await router.command('admin', { serverStatus: 1 }, options);
  const { userWriteBlockMode, userWriteBlockReason = 0 } = (repl ?? {}) as {
    userWriteBlockMode?: number;
    userWriteBlockReason?: number;
  };
  if (userWriteBlockMode !== standingMode) return null;
  return {
    foreignReason:
      userWriteBlockReason === 0 ? null : (reasons[userWriteBlockReason] ?? `number ${userWriteBlockReason}`),
  };
}

/**
 * The config server records a block once all shards have it, so that new shards get it too, until the first shard lifts
 * it (server source: set_user_write_block_mode_coordinator). While the config server sets or lifts a block, or
 * coordinates anything else, the state is unknown. So this is checked first.
 */
async function blockOfShards(router: NodeClient, options: CallOptions): Promise<StandingBlock | null> {
  if ((await firstIn(router, 'sharding_configsvr_coordinators', options)) !== null) return null;
  const block = await firstIn(router, 'user_writes_critical_sections', options);
  if (block?.blockUserWrites !== true) return null;
  const reason = (block.blockUserWritesReason as string | undefined) ?? reasons[0];
  return { foreignReason: reason === reasons[0] ? null : String(reason) };
}

async function firstIn(router: NodeClient, collection: string, options: CallOptions): Promise<Document | null> {
  const reply = await router.command(
    'config',
    { find: collection, limit: 1, singleBatch: true, readConcern: { level: 'majority' } },
    options,
  );
  return (reply.cursor as { firstBatch: Document[] }).firstBatch[0] ?? null;
}
