import { type Document, Timestamp } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { CallOptions, ClusterClient, NodeClient } from './node-client.js';
import { classify, codeOf, lockFailedCode } from './failure.js';

/** A cluster time as one number: seconds × 2^32 + increment. */
export function timeOf(timestamp: Timestamp): bigint {
  return timestamp.toBigInt();
}

/**
 * The BSON timestamp of a cluster time.
 * @throws RangeError outside of 64 bits
 */
export function timestampOf(time: bigint): Timestamp {
  if (time !== BigInt.asUintN(64, time)) throw new RangeError(`${time} is no cluster time`);
  return new Timestamp(time);
}

/** Seconds since 1970 of a cluster time. */
export function secondsOf(time: bigint): number {
  return Number(time >> 32n);
}

/** The latest of several cluster times; 0 for none. */
export function highestTime(times: Iterable<bigint>): bigint {
  let highest = 0n;
  for (const time of times) if (time > highest) highest = time;
  return highest;
}

/**
 * The operation time of a reply: the answering node (or the shards behind a router) has everything before it.
 * @throws ConvoyError `unsupportedTopology` if the node is not a member of a replica set or cluster
 */
export function operationTimeOf(reply: Document): bigint {
  const time: unknown = reply.operationTime;
  if (time instanceof Timestamp) return timeOf(time);
  throw new ConvoyError(
    'unsupportedTopology',
    'A server answered without an operation time. Convoy needs a replica set or sharded cluster.',
  );
}

/** The highest cluster time that the answering node knows of. */
export function clusterTimeOf(reply: Document): bigint {
  const gossiped = reply.$clusterTime as { clusterTime?: unknown } | undefined;
  return gossiped?.clusterTime instanceof Timestamp ? timeOf(gossiped.clusterTime) : operationTimeOf(reply);
}

/** The current cluster time as a router or primary knows it. */
export async function currentTime(client: NodeClient, options: CallOptions): Promise<bigint> {
  return clusterTimeOf(await client.command('admin', { ping: 1 }, options));
}

/**
 * A time after everything written to the cluster so far; the streams of idle shards advance to it. If notes cannot be
 * written (through routers before 6.0, or without the privilege), Convoy asks every shard for its databases: the reply
 * carries the shard's time.
 * @throws LockFailed (107, retryable) while a shard's global lock is taken
 */
export async function timeAboveAll(cluster: ClusterClient, options: CallOptions): Promise<bigint> {
  const noted = await noteOn(cluster, noteClients(cluster), (client) => appendNote(client, options));
  return noted ?? advanceAll(cluster.router, options);
}

/**
 * A time after everything written to the cluster so far, and below every later write. Clocks of shards differ: until a
 * shard learns of a time, it gives earlier ones to its writes.
 * @param cluster read through its routers: they learn the latest time from the shards' replies, and pass it on to all
 *   shards with their next request
 */
export async function timeBetweenWrites(cluster: ClusterClient, options: CallOptions): Promise<bigint> {
  const time = await timeAboveAll(cluster, options);
  await timeAboveAll(cluster, options);
  return time;
}

async function advanceAll(router: NodeClient, options: CallOptions): Promise<bigint> {
  const time = clusterTimeOf(await router.command('admin', { listDatabases: 1, nameOnly: true }, options));
  await advanceShards(router, time, options);
  return time;
}

/** Advances the stream of a sync task to the current time. */
export async function wakeStream(cluster: ClusterClient, taskId: string, options: CallOptions): Promise<void> {
  if (await noteUnlessLocked(cluster, [cluster.taskClient(taskId)], options)) return;
  await advanceShards(cluster.router, await currentTime(cluster.router, options), options);
}

/** Advances the streams of all shards to the current time. */
export async function wakeStreams(cluster: ClusterClient, options: CallOptions): Promise<void> {
  if (!(await noteUnlessLocked(cluster, noteClients(cluster), options))) await advanceAll(cluster.router, options);
}

/** @returns false if the server has no notes, or the user may not append any */
async function noteUnlessLocked(
  cluster: ClusterClient,
  clients: readonly NodeClient[],
  options: CallOptions,
): Promise<boolean> {
  return (await noteOn(cluster, clients, (client) => unlessLocked(() => appendNote(client, options)))) !== null;
}

/**
 * Writes an oplog note on every shard whose lock is free.
 * @returns the notes' times by shard id; null without direct access, or if the user may not append any
 */
export async function noteEachShard(cluster: ClusterClient, options: CallOptions): Promise<Map<string, bigint> | null> {
  if (cluster.access !== 'direct') return null;
  const note = async (id: string): Promise<[string, bigint][]> => {
    const time = await unlessLocked(() => appendNote(cluster.shard(id), options));
    return time === null ? [] : [[id, time]];
  };
  return unlessUnauthorized(async () => new Map((await Promise.all(cluster.shardIds.map(note))).flat()));
}

/** The nodes to which notes are sent. */
function noteClients(cluster: ClusterClient): NodeClient[] {
  return cluster.access === 'direct' ? cluster.shardIds.map((id) => cluster.shard(id)) : [cluster.router];
}

/** @returns the highest time of the notes; null if the server has no notes, or the user may not append any */
async function noteOn(
  cluster: ClusterClient,
  clients: readonly NodeClient[],
  note: (client: NodeClient) => Promise<bigint | null>,
): Promise<bigint | null> {
  if (!takesNotes(cluster)) return null;
  return unlessUnauthorized(async () => highestTime((await Promise.all(clients.map(note))).map((time) => time ?? 0n)));
}

/** Skips a node whose lock is taken: its holder writes, or an election follows, and both advance its stream. */
async function unlessLocked(call: () => Promise<bigint>): Promise<bigint | null> {
  try {
    return await call();
  } catch (error) {
    if (codeOf(error) !== lockFailedCode) throw error;
    return null;
  }
}

async function unlessUnauthorized<Result>(call: () => Promise<Result>): Promise<Result | null> {
  try {
    return await call();
  } catch (error) {
    if (classify(error) !== 'unauthorized') throw error;
    return null;
  }
}

/**
 * Advances the oplogs of idle shards to a time. A shard that is asked to read after a future time writes an entry at
 * that time, and a stream of the whole cluster asks all shards. This only saves time: without it, streams advance with
 * the servers' own ticks, every 10 s by default.
 */
async function advanceShards(router: NodeClient, time: bigint, options: CallOptions): Promise<void> {
  const pipeline = [{ $changeStream: { allChangesForCluster: true } }];
  const readConcern = { level: 'majority', afterClusterTime: timestampOf(time) };
  try {
    const stream = await router.openCursor(
      'admin',
      { aggregate: 1, pipeline, cursor: { batchSize: 0 }, readConcern },
      options,
    );
    await stream.close();
  } catch (error) {
    if (codeOf(error) === null) throw error;
  }
}

/** Whether oplog notes work for the way a cluster's changes are read; routers support them from 6.0 on. */
export function takesNotes({ access, version }: Pick<ClusterClient, 'access' | 'version'>): boolean {
  return access === 'direct' || version[0] >= 6;
}

/**
 * The operation time of every shard's primary.
 * @returns time by shard id; needs direct access (or a replica set)
 */
export async function operationTimes(cluster: ClusterClient, options: CallOptions): Promise<Map<string, bigint>> {
  const times = cluster.shardIds.map(async (id) => {
    return [id, operationTimeOf(await cluster.shard(id).command('admin', { ping: 1 }, options))] as const;
  });
  return new Map(await Promise.all(times));
}

/**
 * Writes an oplog note: it advances an idle shard's stream, and its time is after every earlier write. Shards and
 * replica sets support it in all versions, routers from 6.0 on.
 * @returns the time of the note (the reply's operation time)
 */
export async function appendNote(client: NodeClient, options: CallOptions): Promise<bigint> {
  return operationTimeOf(await client.command('admin', { appendOplogNote: 1, data: { convoy: 'tick' } }, options));
}

/** The durable form of a cluster time. */
export function storedTime(time: bigint | null): Timestamp | null {
  return time === null ? null : new Timestamp(time);
}

/** A cluster time as stored. */
export function restoredTime(stored: Timestamp | null): bigint | null {
  return stored === null ? null : stored.toBigInt();
}
