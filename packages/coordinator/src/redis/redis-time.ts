import type { RedisConnection } from './redis-connection.js';
import type { FleetKeys } from './keys.js';

const TIME = `return redis.call('TIME')`;

/**
 * The Redis server's time in milliseconds since 1970: the one clock for all processes of a fleet. In a Redis
 * Cluster, the clock of the node with the fleet's keys, since each node has its own.
 */
export async function redisTime_ms(connection: RedisConnection, { members }: FleetKeys): Promise<number> {
  const [seconds, microseconds] = (await connection.eval(TIME, 1, members)) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}
