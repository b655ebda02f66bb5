import type { Document } from 'mongodb';
import type { Clock } from './clock.js';
import type { History, Stage } from './history.js';
import { database } from './source-collections.js';
import { passOver, type User } from './user.js';

/** What a balancer or an operator moves between the source's shards. `n` is a number that decides the details. */
export interface Move {
  readonly kind: 'moveChunk' | 'split' | 'movePrimary';
  readonly at_ms: number;
  readonly collection: string;
  readonly n: number;
}

/**
 * Moves chunks and databases of the source, one after the other; what the servers refuse is passed over.
 * @returns how many of them the servers have taken
 */
export async function move({ moves, stage }: History, clock: Clock, started_ms: number, user: User): Promise<number> {
  let taken = 0;
  for (const one of [...moves].sort((a, b) => a.at_ms - b.at_ms)) {
    await clock.sleep(started_ms + one.at_ms - clock.elapsed_ms);
    const isTaken = await moveOne(one, stage, user).catch(passOver);
    if (isTaken === true) taken += 1;
  }
  return taken;
}

/** @returns false where there is nothing to move: the collection is not sharded */
async function moveOne({ kind, collection, n }: Move, { sourceShards }: Stage, user: User): Promise<boolean> {
  const to = `shard${n % sourceShards}`;
  if (kind === 'movePrimary') {
    await user.command('admin', { movePrimary: database, to });
    return true;
  }
  const namespace = `${database}.${collection}`;
  const bounds = await chunkBounds(namespace, n, user);
  if (bounds === null) return false;
  if (kind === 'split') await user.command('admin', { split: namespace, bounds });
  else await user.command('admin', { moveChunk: namespace, bounds, to });
  return true;
}

/** Bounds of a chunk; null where the collection is not sharded. */
async function chunkBounds(namespace: string, n: number, user: User): Promise<Document[] | null> {
  const [sharded] = await user.documents('config', { find: 'collections', filter: { _id: namespace } });
  if (sharded === undefined) return null;
  const chunks = await user.documents('config', { find: 'chunks', filter: { uuid: sharded['uuid'] as unknown } });
  const chunk = chunks[n % Math.max(1, chunks.length)];
  return chunk === undefined ? null : [chunk['min'] as Document, chunk['max'] as Document];
}
