import type { Cluster, Redis } from 'ioredis';
import type { z } from 'zod';
import type { FleetKeys } from './keys.js';
import { callRedis } from './redis-failure.js';
import type { FleetSignature } from './signature.js';

/** Where a fleet keeps signed values, and how they are signed. */
export interface SignedRedis {
  readonly connection: RedisConnection;
  readonly keys: FleetKeys;
  readonly signature: FleetSignature;
  /** Time limit of one call. */
  readonly limit_ms: number;
}

/** A connection to one Redis server, or to a Redis Cluster. */
export type RedisConnection = Redis | Cluster;

/** Whether it has a server, as far as it knows. */
export function isOpen({ status }: Pick<RedisConnection, 'status'>): boolean {
  return ['ready', 'connect'].includes(status);
}

const TIME = `return redis.call('TIME')`;

/**
 * The Redis server's time in milliseconds since 1970: the one clock for all processes of a fleet. In a Redis
 * Cluster, the clock of the node with the fleet's keys, since each node has its own.
 */
export async function redisTime_ms({ connection, keys, limit_ms }: SignedRedis): Promise<number> {
  const reading = connection.eval(TIME, 1, keys.members).then((reply) => {
    const [seconds, microseconds] = reply as [string, string];
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  });
  return await callRedis(reading, limit_ms);
}

/** The value of a JSON text; null when it is no JSON, or not of the schema. */
export function parsed<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
