import { BSON, type Document } from 'mongodb';
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
