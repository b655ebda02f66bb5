import type { RedisConnection } from './redis-connection.js';
import type { FleetKeys } from './keys.js';

const TIME = `return redis.call('TIME')`;

/**
 * The Redis server's time in milliseconds since 1970: the one clock that all processes of a fleet share. In a Redis
 * Cluster it is that of the node which has the fleet's keys, for each node has its own clock.
 */
export async function redisTime_ms(connection: RedisConnection, { members }: FleetKeys): Promise<number> {
  const [seconds, microseconds] = (await connection.eval(TIME, 1, members)) as [string, string];
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}
