import type { Cluster, Redis } from 'ioredis';

/** A connection to one Redis server, or to a Redis Cluster. */
export type RedisConnection = Redis | Cluster;
