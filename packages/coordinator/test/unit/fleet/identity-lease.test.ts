import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { fleetTimingsDefault } from '../../../src/fleet/fleet-link.js';
import { IdentityLease } from '../../../src/fleet/identity-lease.js';
import { fleetKeys } from '../../../src/redis/keys.js';
import { FleetSignature } from '../../../src/redis/signature.js';
import type { RedisConnection } from '../../../src/redis/signed-redis.js';

const clock = { now_ms: () => 0, monotonic_ms: () => 0 };
const identity = { id: 'shard0', syncID: 'shard0', incarnation: 'own', release: '2.0.0' };

/** The lease of a process whose connection answers the question for the holder in this way. */
function leaseWith(get: () => Promise<string | null>, identityLease_ms = 1_000): IdentityLease {
  const connection: Pick<RedisConnection, 'get'> = { get };
  const keys = fleetKeys('blue', '');
  const timings = { ...fleetTimingsDefault, identityLease_ms };
  const signature = new FleetSignature(undefined, '{convoy:blue}', clock, pino({ level: 'silent' }));
  return new IdentityLease({ connection: connection as RedisConnection, keys, timings, signature }, identity);
}

describe('whether another process has the identity', () => {
  it.each([
    ['another', true],
    ['own', false],
    [null, false],
  ])('is what Redis says (%s)', async (holder, isTaken) => {
    expect(await leaseWith(() => Promise.resolve(holder)).isTaken()).toBe(isTaken);
  });

  it('is asked again by a thawed process', async () => {
    // It has lost its connection.
    const lost = Promise.reject(new Error('Connection is closed.'));
    const replies = [lost, Promise.resolve('another')];
    expect(await leaseWith(() => replies.shift() ?? Promise.resolve(null)).isTaken()).toBe(true);
  });

  it('stays unknown while Redis is lost', async () => {
    const lease = leaseWith(() => Promise.reject(new Error('Connection is closed.')), 50);
    await expect(lease.isTaken()).rejects.toMatchObject({ error: 'redisUnavailable' });
  });
});
