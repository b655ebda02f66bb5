import type { RedisConnection } from './connections.js';

/** The Redis server's time in milliseconds since 1970: the one clock that all processes of a fleet share. */
export async function redisTime_ms(connection: RedisConnection): Promise<number> {
  const [seconds, microseconds] = await connection.time();
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}
