import { setTimeout as delay } from 'node:timers/promises';
import type { RedisServer } from '@convoy/testbed/redis/redis-server';
import { redisCommand } from './redis-command.js';

/** Ways to lose Redis and bring it back. Resolves once it answers again. */
export type RedisFault = (redis: RedisServer, absence_ms: number) => Promise<void>;

/** All the ways in which a Redis is lost. */
export const redisFaults = {
  'forgets everything': async (redis) => redisCommand(redis.url, 'FLUSHALL', '+OK'),
  'is killed and comes back at once': async (redis) => {
    await redis.kill();
    await redis.restart();
  },
  'is gone for a time': async (redis, absence_ms) => {
    await redis.kill();
    await delay(absence_ms);
    await redis.restart();
  },
  'stands still for a time': async (redis, absence_ms) => {
    redis.freeze();
    await delay(absence_ms);
    redis.thaw();
    await redisCommand(redis.url, 'PING', '+PONG');
  },
} satisfies Record<string, RedisFault>;

export type RedisFaultName = keyof typeof redisFaults;

export const redisFaultNames = Object.keys(redisFaults) as [RedisFaultName, ...RedisFaultName[]];
