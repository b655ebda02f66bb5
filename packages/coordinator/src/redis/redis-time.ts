import { callRedis } from './redis-failure.js';
import type { SignedRedis } from './signed-redis.js';

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
