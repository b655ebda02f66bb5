import pino from 'pino';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeFleet } from '../../../api/test/unit/fleet/fleet-behaviour.js';
import { RedisFleet } from '../../src/fleet/redis-fleet.js';
import { fleetName, hasRedis, openRedis, withoutRedis } from './redis-server.js';
import type { TestRedis } from './redis-server.js';

describe.skipIf(!hasRedis)(hasRedis ? 'over Redis' : withoutRedis, () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await openRedis();
  });
  afterAll(async () => {
    await redis.close();
  });
  describeFleet(
    'RedisFleet',
    () => new RedisFleet({ redis: redis.settings, fleet: fleetName(), logger: pino({ level: 'silent' }) }),
  );
});
