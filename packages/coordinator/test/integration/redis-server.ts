import { type ChildProcess, spawnSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe } from 'vitest';
import { parseRedisSettings } from '../../src/config/redis-config.js';
import type { RedisSettings } from '../../src/redis/redis-settings.js';
import { freePort, killRedisProcess, serverArgs, startRedisProcess } from './redis-process.js';

/** Whether this host can start a `redis-server`. Tests that flush or restart Redis need their own. */
export const hasRedisBinary = spawnSync('redis-server', ['--version']).status === 0;

const givenUrl = process.env['CONVOY_REDIS_URL'];

/** A Redis for a test file. */
export interface TestRedis {
  readonly settings: RedisSettings;
  /** A plain connection for inspection and faults. */
  readonly client: Redis;
}

interface OpenedRedis extends TestRedis {
  close(): Promise<void>;
}

/** A Redis that only one test uses. */
export interface OwnRedis extends OpenedRedis {
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
async function openRedis(): Promise<OpenedRedis> {
  if (givenUrl === undefined) return startOwnRedis();
  const client = makeClient(givenUrl);
  const close = (): Promise<void> => {
    client.disconnect();
    return Promise.resolve();
  };
  return { settings: parseRedisSettings(givenUrl), client, close };
}

/** A suite whose tests share a Redis, which is open in hooks and tests; skipped where there is none. */
export function describeOnRedis(title: string, suite: (redis: TestRedis) => void): void {
  const hasRedis = givenUrl !== undefined || hasRedisBinary;
  const named = hasRedis ? title : `${title} needs Redis: set CONVOY_REDIS_URL or install redis-server`;
  describe.skipIf(!hasRedis)(named, () => {
    let opened: OpenedRedis;
    beforeAll(async () => {
      opened = await openRedis();
    });
    afterAll(() => opened.close());
    suite({
      get settings() {
        return opened.settings;
      },
      get client() {
        return opened.client;
      },
    });
  });
}

let namesMade = 0;

/** A unique fleet name. */
export function fleetName(): string {
  namesMade += 1;
  return `test-${process.pid}-${Date.now()}-${namesMade}`;
}
