import { type ChildProcess, spawnSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { parseRedisSettings } from '../../src/config/redis-config.js';
import type { RedisSettings } from '../../src/redis/redis-settings.js';
import { freePort, killRedisProcess, serverArgs, startRedisProcess } from './redis-process.js';

/** Whether this host can start a `redis-server`. Tests that flush or restart Redis need their own. */
export const hasRedisBinary = spawnSync('redis-server', ['--version']).status === 0;

const givenUrl = process.env['CONVOY_REDIS_URL'];

/** Whether any Redis is available: the one of `CONVOY_REDIS_URL`, or one to start. */
export const hasRedis = givenUrl !== undefined || hasRedisBinary;

/** Suffix of skipped tests' names. */
export const withoutRedis = 'needs Redis: set CONVOY_REDIS_URL or install redis-server';

/** A Redis for a test file. */
export interface TestRedis {
  readonly settings: RedisSettings;
  /** A plain connection for inspection and faults. */
  readonly client: Redis;
  close(): Promise<void>;
}

/** A Redis that only one test uses. */
export interface OwnRedis extends TestRedis {
  stop(): Promise<void>;
  start(): Promise<void>;
}

const startServer = (port: number): Promise<ChildProcess> => startRedisProcess(serverArgs(port, '/tmp'));

function makeClient(url: string): Redis {
  const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  return client;
}

/** Starts a Redis without persistence on a free port. */
export async function startOwnRedis(): Promise<OwnRedis> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let child = await startServer(port);
  const client = makeClient(url);
  return {
    settings: parseRedisSettings(url),
    client,
    stop: () => killRedisProcess(child),
    start: async () => {
      child = await startServer(port);
    },
    close: async () => {
      client.disconnect();
      await killRedisProcess(child);
    },
  };
}

/** The Redis of `CONVOY_REDIS_URL`, or a new one. */
export async function openRedis(): Promise<TestRedis> {
  if (givenUrl === undefined) return startOwnRedis();
  const client = makeClient(givenUrl);
  const close = (): Promise<void> => {
    client.disconnect();
    return Promise.resolve();
  };
  return { settings: parseRedisSettings(givenUrl), client, close };
}

let namesMade = 0;

/** A unique fleet name. */
export function fleetName(): string {
  namesMade += 1;
  return `test-${process.pid}-${Date.now()}-${namesMade}`;
}
