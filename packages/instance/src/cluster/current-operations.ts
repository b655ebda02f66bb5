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
 * neither a namespace nor a command (8.0.10). On 5.0.7 the namespace is empty, and the command
 * of the client names the collection. 8.0.10 has both; without a client, as after an election, its command lacks `$db`
 * (server source: `updateCurOpOpDescription`).
 */
const inThreads = {
  desc: { $regex: '^IndexBuildsCoordinator' },
  $or: [{ ns: { $regex: '\\.' } }, { 'command.createIndexes': { $type: 'string' } }],
};

/** An operation of such a thread. */
interface BuildingThread {
  shard?: string;
  opid: unknown;
  ns?: string;
  command?: { createIndexes?: string; $db?: string };
}

/**
 * The index builds that run on a cluster's primaries: no change event shows the beginning of one. They may not be in
 * the catalog yet. None without the privilege `inprog`.
 */
export async function runningBuilds({ router }: ClusterClient, options: CallOptions): Promise<RunningBuild[]> {
  const pipeline = [
    // The threads count as idle.
    { $currentOp: { allUsers: true, idleConnections: true } },
    { $match: inThreads },
    { $project: { shard: 1, opid: 1, ns: 1, command: 1 } },
  ];
  try {
    const cursor = await router.openCursor(
      'admin',
      { aggregate: 1, pipeline, cursor: {} },
      { ...options, primary: true },
    );
    await cursor.close();
    return cursor.first.documents.flatMap((bytes) => {
      const { shard = '', opid, ns = '', command = {} } = BSON.deserialize(bytes) as BuildingThread;
      const namespace = ns === '' ? `${command.$db ?? ''}.${command.createIndexes ?? ''}` : ns;
      const dot = namespace.indexOf('.');
      if (dot <= 0) return [];
      const [database, collection] = [namespace.slice(0, dot), namespace.slice(dot + 1)];
      return { id: `${shard} ${String(opid)} ${namespace}`, database, collection };
    });
  } catch (error) {
    if (codeOf(error) === unauthorizedCode) return [];
    throw error;
  }
}
