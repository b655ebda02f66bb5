import { BSON, type Document } from 'mongodb';
import { codeOf, unauthorizedCode } from './failure.js';
import type { CallOptions, ClusterClient } from './node-client.js';

/** Open and prepared transactions of every session, and decided commits that a participant has not executed. */
const notEnded = {
  $or: [
    { 'transaction.parameters.autocommit': false },
    // Every transaction over shards has a coordinator from its start; an inactive one may outlive its transaction.
    { 'twoPhaseCommitCoordinator.state': { $exists: true, $ne: 'inactive' } },
  ],
};

const identity = {
  lsid: { $ifNull: ['$twoPhaseCommitCoordinator.lsid', '$lsid'] },
  txnNumber: { $ifNull: ['$twoPhaseCommitCoordinator.txnNumber', '$transaction.parameters.txnNumber'] },
};

/**
 * The multi-document transactions that have not ended on every shard: open or prepared on one, or decided but not
 * executed. Each counts once, however many shards it has. Transactions that a primary restored from its oplog after an
 * election count too. Needs the privilege `inprog`. Server source: `reportStashedState`, `reportUnstashedState`,
 * `TransactionCoordinator::reportState`.
 * @returns names that stay the same in every call
 * @throws if a shard cannot be asked
 */
export async function openTransactions(cluster: ClusterClient, options: CallOptions): Promise<Set<string>> {
  const pipeline = [
    { $currentOp: { allUsers: true, idleSessions: true } },
    { $match: notEnded },
    { $group: { _id: null, found: { $addToSet: identity } } },
  ];
  const { cursor } = await cluster.router.command('admin', { aggregate: 1, pipeline, cursor: {} }, options);
  const [all] = (cursor as { firstBatch: { found: Document[] }[] }).firstBatch;
  return new Set((all?.found ?? []).map((one) => Buffer.from(BSON.serialize(one)).toString('base64')));
}

/** An index build that the primary of a shard runs. */
interface RunningBuild {
  /** The same in every call, and another one for every build. */
  id: string;
  database: string;
  collection: string;
}

/**
 * Servers build in threads of this name, which the client's connection only waits for. One that has nothing to do has
 * no namespace (seen on 8.0.10).
 */
const inThreads = { desc: { $regex: '^IndexBuildsCoordinator' }, ns: { $type: 'string' } };

/**
 * The index builds that run on a cluster's primaries: no change event shows the beginning of one. They may not be in
 * the catalog yet. None without the privilege `inprog`.
 */
export async function runningBuilds({ router }: ClusterClient, options: CallOptions): Promise<RunningBuild[]> {
  const pipeline = [
    // The threads count as idle.
    { $currentOp: { allUsers: true, idleConnections: true } },
    { $match: inThreads },
    { $project: { shard: 1, opid: 1, ns: 1 } },
  ];
  try {
    const cursor = await router.openCursor('admin', { aggregate: 1, pipeline, cursor: {} }, options);
    await cursor.close();
    return cursor.first.documents.flatMap((bytes) => {
      const { shard = '', opid, ns = '' } = BSON.deserialize(bytes) as { shard?: string; opid: unknown; ns?: string };
      const dot = ns.indexOf('.');
      if (dot < 0) return [];
      return { id: `${shard} ${String(opid)} ${ns}`, database: ns.slice(0, dot), collection: ns.slice(dot + 1) };
    });
  } catch (error) {
    if (codeOf(error) === unauthorizedCode) return [];
    throw error;
  }
}

/**
 * Whether a shard gives chunks to another one, from 6.0 on. Without the privilege `inprog`, which a destination's user
 * may lack, the shards do not show their operations.
 */
export async function isMovingChunks({ router }: ClusterClient, options: CallOptions): Promise<boolean> {
  const moves = { $or: [{ desc: 'MoveChunk' }, { 'command._shardsvrMoveRange': { $exists: true } }] };
  const pipeline = [{ $currentOp: { allUsers: true, idleConnections: true } }, { $match: moves }, { $limit: 1 }];
  try {
    const cursor = await router.openCursor('admin', { aggregate: 1, pipeline, cursor: {} }, options);
    await cursor.close();
    return cursor.first.documents.length > 0;
  } catch (error) {
    if (codeOf(error) === unauthorizedCode) return false;
    throw error;
  }
}
