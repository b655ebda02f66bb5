import pino from 'pino';
import { describeFleet } from '../../../api/test/unit/fleet/fleet-behaviour.js';
import { RedisFleet } from '../../src/fleet/redis-fleet.js';
import { describeOnRedis, fleetName } from './redis-server.js';

describeOnRedis('over Redis', (redis) => {
  describeFleet(
    'RedisFleet',
    () => new RedisFleet({ redis: redis.settings, fleet: fleetName(), logger: pino({ level: 'silent' }) }),
  );
});
