import { BSON } from 'mongodb';
import { codeOf, unauthorizedCode } from './failure.js';
import type { CallOptions, ClusterClient } from './node-client.js';

/** An index build that the primary of a shard runs. */
export interface RunningBuild {
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
