import type { Cluster, Redis } from 'ioredis';

/** A connection to one Redis server, or to a Redis Cluster. */
export type RedisConnection = Redis | Cluster;

/** Whether it has a server, as far as it knows. */
export function isOpen({ status }: Pick<RedisConnection, 'status'>): boolean {
  return ['ready', 'connect'].includes(status);
}
