import pino from 'pino';
import { expect, it } from 'vitest';
import { Secret } from '@convoy/api/configuration/secret';
import type { CommandResult } from '@convoy/api/fleet/fleet';
import { systemTime } from '@convoy/api/time/time-source';
import { openJobData, openResult, sealJobData, sealResult } from '../../../src/fleet/command-job.js';
import { FleetSignature } from '../../../src/redis/signature.js';

const commit = { name: 'commit', body: {}, expiresAt_ms: Date.now() + 3_600_000 } as const;

function signatureOf(secret: string | undefined): FleetSignature {
  const given = secret === undefined ? undefined : new Secret(secret);
  return new FleetSignature(given, '{convoy:fleet}', systemTime, pino({ level: 'silent' }));
}

const own = signatureOf('0123456789abcdef0123456789abcdef');
const other = signatureOf('fedcba9876543210fedcba9876543210');

it('a commit of this fleet opens for its instance and id only', () => {
  const data = sealJobData(own, 'shard0', 'one', commit);
  expect(openJobData(own, 'shard0', 'one', data)).toEqual({ isSigned: true, data: commit });
  expect(openJobData(own, 'shard1', 'one', data)).toEqual({ isSigned: false, data: null });
  expect(openJobData(own, 'shard0', 'two', data)).toEqual({ isSigned: false, data: null });
});

it('a commit that nobody signed does not open', () => {
  expect(openJobData(own, 'shard0', 'one', commit)).toEqual({ isSigned: false, data: null });
});

it('a commit with the signature of another secret does not open', () => {
  const forged = sealJobData(other, 'shard0', 'one', commit);
  expect(openJobData(own, 'shard0', 'one', forged)).toEqual({ isSigned: false, data: null });
});

it('a result keeps the instances that the command waits for, and only its instance can give it', () => {
  const result: CommandResult = { success: true, waitingFor: ['shard1'] };
  const value = sealResult(own, 'shard0', 'one', result);
  expect(openResult(own, 'shard0', 'one', value)).toEqual(result);
  expect(openResult(own, 'shard1', 'one', value)).toBeNull();
  expect(openResult(own, 'shard0', 'one', result)).toBeNull();
});

it('no result in time is none, and no message that somebody forged', () => {
  const waiting = signatureOf('0123456789abcdef0123456789abcdef');
  expect(openResult(waiting, 'shard0', 'one', null)).toBeNull();
  expect(waiting.refused()).toEqual(new Map());
  expect(waiting.warnings()).toEqual([]);
});

it('without a secret jobs have their content as it is', () => {
  const unsigned = signatureOf(undefined);
  expect(sealJobData(unsigned, 'shard0', 'one', commit)).toEqual(commit);
  expect(openJobData(unsigned, 'shard0', 'one', commit)).toEqual({ isSigned: true, data: commit });
});
