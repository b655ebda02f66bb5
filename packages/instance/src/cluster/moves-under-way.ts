import { BSON, type Document } from 'mongodb';
import { codeOf, unauthorizedCode } from './failure.js';
import type { CallOptions, ClusterClient } from './node-client.js';
import { shownName } from './time-series.js';
import { isAtLeast } from './topology.js';

/** Something that servers move, or distribute anew, right now. */
export interface MoveUnderWay {
  /** Collections and databases that move are followed under their new UUIDs; what is resharded is not. */
  kind: 'chunk' | 'collection' | 'database' | 'resharding';
  /** The command and the namespace, for example `moveCollection of shop.orders`. */
  description: string;
}

/** The thread or command of a donor shard's move of a chunk, and the coordinator of a database's move. */
const operations = {
  $or: [{ desc: 'MoveChunk' }, { 'command._shardsvrMoveRange': { $exists: true } }, { desc: 'MovePrimaryCoordinator' }],
};

/**
 * The moves of chunks, collections and databases that are under way on a cluster, whoever began them: each once. Empty
 * for replica sets, and as far as the user may not see them: the destination's may lack the privilege `inprog`. Moves
 * of chunks and databases are looked for from 6.0 on, reshardings in all releases.
 */
export async function movesUnderWay(cluster: ClusterClient, options: CallOptions): Promise<MoveUnderWay[]> {
  if (cluster.kind !== 'sharded') return [];
  const read = [readReshardings(cluster, options)];
  if (isAtLeast(cluster.version, 6, 0)) read.push(readOperations(cluster, options));
  const found = (await Promise.all(read.map(unlessUnauthorized))).flat();
  return [...new Map(found.map((move) => [move.description, move])).values()];
}

/** Moves that one text names; the rest is only counted. */
const namedMax = 5;

/** Moves in words; empty for none. */
export function nameMoves(moves: readonly MoveUnderWay[]): string {
  const named = moves.slice(0, namedMax).map(({ description }) => description);
  return [...named, ...(moves.length > namedMax ? [`${moves.length - namedMax} more`] : [])].join(', ');
}

async function unlessUnauthorized(read: Promise<MoveUnderWay[]>): Promise<MoveUnderWay[]> {
  try {
    return await read;
  } catch (error) {
    if (codeOf(error) === unauthorizedCode) return [];
    throw error;
  }
}

/** The config servers note every resharding until all shards have ended it; from 8.0 on also which command began it. */
async function readReshardings({ router }: ClusterClient, options: CallOptions): Promise<MoveUnderWay[]> {
  const projection = { ns: 1, provenance: 1 };
  const command = { find: 'reshardingOperations', projection, readConcern: { level: 'majority' } };
  const documents = await readFirst(router.openCursor('config', command, options));
  return documents.map(({ ns, provenance }) => {
    const name = typeof provenance === 'string' ? provenance : 'reshardCollection';
    const kind = /^(balancerM|m)oveCollection$/.test(name) ? 'collection' : 'resharding';
    return { kind, description: `${name} of ${shown(ns)}` };
  });
}

async function readOperations({ router }: ClusterClient, options: CallOptions): Promise<MoveUnderWay[]> {
  // The threads and coordinators count as idle.
  const pipeline = [
    { $currentOp: { allUsers: true, idleConnections: true } },
    { $match: operations },
    { $project: { desc: 1, ns: 1, 'command._shardsvrMoveRange': 1 } },
  ];
  const documents = await readFirst(router.openCursor('admin', { aggregate: 1, pipeline, cursor: {} }, options));
  const found = documents.map(({ desc, ns, command }): MoveUnderWay => {
    if (desc === 'MovePrimaryCoordinator') return { kind: 'database', description: `movePrimary of ${databaseOf(ns)}` };
    const moved = (command as Document | undefined)?.['_shardsvrMoveRange'] as unknown;
    return { kind: 'chunk', description: `a chunk of ${shown(moved ?? ns)}` };
  });
  const isNamed = ({ description }: MoveUnderWay): boolean => description !== aChunk;
  const hasNamedChunk = found.some((move) => move.kind === 'chunk' && isNamed(move));
  return hasNamedChunk ? found.filter(isNamed) : found;
}

const aCollection = 'a collection';
/** Threads of donors do not name their collection; the command that they serve does. */
const aChunk = `a chunk of ${aCollection}`;

async function readFirst(opened: ReturnType<ClusterClient['router']['openCursor']>): Promise<Document[]> {
  const cursor = await opened;
  await cursor.close();
  return cursor.first.documents.map((bytes) => BSON.deserialize(bytes));
}

/** The name that users know. */
function shown(namespace: unknown): string {
  if (typeof namespace !== 'string' || !namespace.includes('.')) return aCollection;
  const dot = namespace.indexOf('.');
  return shownName({ database: namespace.slice(0, dot), name: namespace.slice(dot + 1) });
}

function databaseOf(namespace: unknown): string {
  return typeof namespace === 'string' ? (namespace.split('.', 1)[0] ?? '') : 'a database';
}
