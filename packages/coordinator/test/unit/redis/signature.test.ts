import fc from 'fast-check';
import pino from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { Secret } from '@convoy/api/configuration/secret';
import { FleetSignature, MESSAGE_AGE_MAX_MS } from '../../../src/redis/signature.js';
import { testSeed } from '../../../../../test/seed.js';

const secret = new Secret('0123456789abcdef0123456789abcdef');
let now_ms: number;
let events: string[];

beforeEach(() => {
  now_ms = 1_800_000_000_000;
  events = [];
});

function signatureOf(given: Secret | undefined = secret, root = '{convoy:a}'): FleetSignature {
  const write = (line: string): void => void events.push((JSON.parse(line) as { event: string }).event);
  const clock = { now_ms: () => now_ms, monotonic_ms: () => now_ms };
  return new FleetSignature(given, root, clock, pino({ level: 'warn' }, { write }));
}

describe('a signed message', () => {
  it('opens for the kind, recipient and id that it was sealed for', () => {
    const signature = signatureOf();
    const sealed = signature.seal('command', ['shard0', 'id'], '{"name":"commit"}');
    expect(signature.open('command', ['shard0', 'id'], sealed, 'recent')).toBe('{"name":"commit"}');
    expect(signature.open('command', ['shard1', 'id'], sealed, 'recent')).toBeNull();
    expect(signature.open('command', ['shard0', 'other'], sealed, 'recent')).toBeNull();
    expect(signature.open('command', ['shard0id'], sealed, 'recent')).toBeNull();
    expect(signature.open('result', ['shard0', 'id'], sealed, 'recent')).toBeNull();
    expect(signature.refused()).toEqual(new Map([['wrongSignature', 4]]));
    expect(events).toEqual(['messageRefused']);
  });

  it('does not open in another fleet or with another secret', () => {
    const sealed = signatureOf().seal('member', [], 'text');
    expect(signatureOf(secret, '{convoy:b}').open('member', [], sealed, 'any')).toBeNull();
    expect(signatureOf(new Secret('f'.repeat(32))).open('member', [], sealed, 'any')).toBeNull();
  });

  it('is refused once it is old, or from a future clock', () => {
    const signature = signatureOf();
    const sealed = signature.seal('member', [], 'text');
    now_ms += MESSAGE_AGE_MAX_MS + 1;
    expect(signature.open('member', [], sealed, 'recent')).toBeNull();
    expect(signature.open('member', [], sealed, 'any')).toBe('text');
    now_ms -= 2 * (MESSAGE_AGE_MAX_MS + 1);
    expect(signature.open('member', [], sealed, 'recent')).toBeNull();
    expect(signature.refused()).toEqual(new Map([['outdated', 2]]));
  });

  it('is refused with any byte changed', () => {
    const signature = signatureOf();
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(), fc.integer({ min: 1, max: 255 }), (text, at, change) => {
        const sealed = signature.seal('command', ['shard0', 'id'], text);
        const bytes = Buffer.from(sealed);
        const place = at % bytes.length;
        bytes[place] = (bytes[place] ?? 0) ^ change;
        const changed = bytes.toString('utf8');
        // Bytes that are no UTF-8 become U+FFFD, which may have been there.
        fc.pre(changed !== sealed);
        expect(signature.open('command', ['shard0', 'id'], changed, 'any')).toBeNull();
      }),
      { seed: testSeed },
    );
  });
});

describe('a mixed fleet', () => {
  it('warns in the process with the secret about unsigned messages', () => {
    const signature = signatureOf();
    expect(signature.open('member', [], 'text', 'recent')).toBeNull();
    expect(signature.warnings()).toEqual([expect.objectContaining({ name: 'messagesRefused' })]);
    now_ms += 11 * 60_000;
    expect(signature.warnings()).toEqual([]);
  });

  it('works in a process without the secret, which warns', () => {
    const clock = { now_ms: () => now_ms, monotonic_ms: () => now_ms };
    const without = new FleetSignature(undefined, '{convoy:a}', clock, pino({ level: 'silent' }));
    expect(without.seal('member', [], 'text')).toBe('text');
    expect(without.open('member', [], signatureOf().seal('member', [], 'text'), 'recent')).toBe('text');
    expect(without.warnings()).toEqual([expect.objectContaining({ name: 'fleetSecretMissing' })]);
  });
});
