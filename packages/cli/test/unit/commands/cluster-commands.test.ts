import { expect, it } from 'vitest';
import { Secret } from '@convoy/api/configuration/secret';
import { redisFindings } from '../../../src/commands/cluster-commands.js';

const fleetSecret = new Secret('0123456789abcdef0123456789abcdef');

function resultsOf(redis: string, secret?: Secret): unknown[] {
  return redisFindings({ redis: new Secret(redis), fleetSecret: secret }).map(({ check, result }) => [check, result]);
}

it('a lone instance has no Redis to check', () => {
  expect(redisFindings({ redis: undefined, fleetSecret: undefined })).toEqual([]);
});

it.each([
  { redis: 'redis://127.0.0.1', secret: undefined, ofRedis: 'passed', ofSecret: 'passed' },
  { redis: 'redis://redis.example', secret: undefined, ofRedis: 'warning', ofSecret: 'warning' },
  { redis: 'redis://redis.example', secret: fleetSecret, ofRedis: 'warning', ofSecret: 'passed' },
  { redis: 'rediss://:word@redis.example', secret: undefined, ofRedis: 'passed', ofSecret: 'warning' },
  { redis: 'rediss://:word@redis.example', secret: fleetSecret, ofRedis: 'passed', ofSecret: 'passed' },
])('$redis with secret $secret: redis $ofRedis, fleetSecret $ofSecret', ({ redis, secret, ofRedis, ofSecret }) => {
  expect(resultsOf(redis, secret)).toEqual([
    ['redis', ofRedis],
    ['fleetSecret', ofSecret],
  ]);
});

it('a finding names no secret', () => {
  const text = JSON.stringify(redisFindings({ redis: new Secret('redis://:word@redis.example'), fleetSecret }));
  expect(text).not.toContain('word@');
  expect(text).not.toContain(fleetSecret.reveal());
});
