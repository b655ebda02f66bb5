import { expect, it } from 'vitest';
import { parseRedisSettings } from '../../../src/config/redis-config.js';
import { redisExposure } from '../../../src/redis/redis-settings.js';

it.each([
  ['redis://127.0.0.1:6379', null],
  ['redis://localhost:6379', null],
  ['rediss://:word@redis.example:6379', null],
  ['redis://redis.example:6379', 'without a password and TLS beyond the local host'],
  ['redis://:word@redis.example:6379', 'without TLS beyond the local host'],
  ['rediss://redis.example:6379', 'without a password beyond the local host'],
])('%s: %s', (url, problem) => {
  const warnings = redisExposure(parseRedisSettings(url));
  expect(warnings.map(({ name }) => name)).toEqual(problem === null ? [] : ['redisNotProtected']);
  if (problem !== null) expect(warnings[0]?.description).toContain(problem);
});
