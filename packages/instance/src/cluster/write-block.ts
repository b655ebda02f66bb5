import type { Document } from 'mongodb';
import type { CallOptions, ClusterClient, NodeClient } from './node-client.js';
import { ensureReached } from './deferred-cluster.js';
import { classify } from './failure.js';

/** First release with user write blocking, on either side. */
export const writeBlockVersion = 6;

/** The reason of a block without one, from 8.0.13, 8.1.2 and 8.2 on (server test: user_write_blocking). */
const withoutReason = 'Unspecified';

/**
 * Time for a majority to confirm what the leading member shows. The servers' own time for a majority to take a block
 * is a minute; a caller repeats the look.
 */
const confirm_ms = 30_000;

/** An active block of user writes. */
interface StandingBlock {
  /** Why another client set it; null for a block without a reason, as Convoy's own. */
  foreignReason: string | null;
}

/**
 * Blocks the writes of users to a whole cluster, or allows them again (`setUserWriteBlockMode`, 6.0). Users with the
 * privilege `bypassWriteBlockingMode` can still write. May be repeated. An existing block is not set again: that would
 * wait for all open transactions once more, delay all others and abort index builds. The command itself ends once a
 * majority has the block, also one that stands already (server source: set_user_write_block_mode_command).
 */
export async function setWriteBlock(cluster: ClusterClient, blocked: boolean, options: CallOptions): Promise<void> {
  if (blocked && (await standingBlock(cluster, options))?.foreignReason === null) return;
  await cluster.router.command('admin', { setUserWriteBlockMode: 1, global: blocked }, options);
}

/** The block that a cluster shows; null if there is none, or the user may not read it. */
export async function standingBlock(cluster: ClusterClient, options: CallOptions): Promise<StandingBlock | null> {
  const block = await shownBlock(cluster, options);
  return block === 'unreadable' ? null : block;
}

/** Whether Convoy's block of user writes stands; null if the user may not read that. */
export async function isBlocked(cluster: ClusterClient, options: CallOptions): Promise<boolean | null> {
  const block = await shownBlock(cluster, options);
  return block === 'unreadable' ? null : block?.foreignReason === null;
}

async function shownBlock(cluster: ClusterClient, options: CallOptions): Promise<StandingBlock | null | 'unreadable'> {
  try {
    await ensureReached(cluster, options.signal);
    const { kind, router } = cluster;
    return kind === 'replicaSet' ? await blockOfReplicaSet(router, options) : await blockOfShards(router, options);
  } catch (error) {
    if (classify(error) !== 'unauthorized') throw error;
    return 'unreadable';
  }
}

/**
 * A member applies the block that it has stored (server source: user_writes_recoverable_critical_section_service).
 * What `serverStatus` shows is one member's own state: another one that is elected may never have got it. So this reads
 * at `linearizable`: the member leads, and a majority has what it shows.
 */
async function blockOfReplicaSet(router: NodeClient, options: CallOptions): Promise<StandingBlock | null> {
  const limited = { ...options, maxTime_ms: confirm_ms };
  return blockIn(await firstIn(router, 'user_writes_critical_sections', 'linearizable', limited));
}

/**
 * The config server records a block once all shards have it, so that new shards get it too, until the first shard lifts
 * it (server source: set_user_write_block_mode_coordinator). While the config server sets or lifts a block, or
 * coordinates anything else, the state is unknown. So this is checked first.
 */
async function blockOfShards(router: NodeClient, options: CallOptions): Promise<StandingBlock | null> {
  if ((await firstIn(router, 'sharding_configsvr_coordinators', 'majority', options)) !== null) return null;
  return blockIn(await firstIn(router, 'user_writes_critical_sections', 'majority', options));
}

function blockIn(document: Document | null): StandingBlock | null {
  if (document?.blockUserWrites !== true) return null;
  const reason = (document.blockUserWritesReason as string | undefined) ?? withoutReason;
  return { foreignReason: reason === withoutReason ? null : reason };
}

async function firstIn(
  router: NodeClient,
  collection: string,
  level: 'majority' | 'linearizable',
  options: CallOptions,
): Promise<Document | null> {
  const reply = await router.command(
    'config',
    { find: collection, limit: 1, singleBatch: true, readConcern: { level } },
    options,
  );
  return (reply.cursor as { firstBatch: Document[] }).firstBatch[0] ?? null;
}
