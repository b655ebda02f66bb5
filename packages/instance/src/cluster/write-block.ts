import type { Document } from 'mongodb';
import type { CallOptions, Cluster } from './door.js';

/** First release with user write blocking, on either side. */
export const writeBlockVersion = 6;

/**
 * Blocks the writes of users to a whole cluster, or allows them again (`setUserWriteBlockMode`, 6.0). Users with the
 * privilege `bypassWriteBlockingMode` go on writing. May be repeated.
 */
export async function setWriteBlock(cluster: Cluster, blocked: boolean, options: CallOptions): Promise<void> {
  await cluster.router.command('admin', { setUserWriteBlockMode: 1, global: blocked }, options);
}

/**
 * Multi-document transactions of users that are open on a cluster: their writes were taken before a block, and may
 * still be committed under it. Each shard of a transaction counts for itself.
 * @returns for how long each is open, in microseconds
 */
export async function openTransactions(cluster: Cluster, options: CallOptions): Promise<number[]> {
  const command = { currentOp: 1, $all: true, 'transaction.parameters.autocommit': false };
  const { inprog } = await cluster.router.command('admin', command, options);
  return (inprog as Document[]).map(({ transaction }) => Number((transaction as Document).timeOpenMicros));
}
