import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { checkVerification, verifiedMemoryBytesMin } from '../../../src/preflight/check-verification.js';
import { fakeCluster, FakeNodeClient, type Handler, serverError } from '../fake-node-client.js';
import type { Advice } from '../../../src/preflight/examination.js';
import { requestOf } from './fixture.js';

const { signal } = new AbortController();
const verified = requestOf({}, { verification: { enabled: true } });
const answers = (aggregate: Handler) =>
  new FakeNodeClient('router', { ping: () => ({ operationTime: new BSON.Timestamp({ t: 1, i: 1 }) }), aggregate });
const streams = answers(() => ({ cursor: { firstBatch: [] } }));
const refuses = answers(() => {
  throw serverError(40_573, 'Location40573');
});

function check(
  source: FakeNodeClient,
  destination: FakeNodeClient,
  memoryBytesMax: number,
  request = verified,
): Promise<Advice> {
  const clusters = {
    source: fakeCluster({ router: source }),
    destination: fakeCluster({ router: destination, name: 'cluster1' }),
  };
  return checkVerification({ ...clusters, request, memoryBytesMax, signal }, []);
}

describe('verification', () => {
  it('is accepted if both clusters show their changes', async () => {
    await expect(check(streams, streams, verifiedMemoryBytesMin)).resolves.toBe(
      'Both clusters show what the verifier must read.',
    );
  });

  it('is refused with too little memory', async () => {
    await expect(check(streams, streams, verifiedMemoryBytesMin - 1)).rejects.toMatchObject({
      error: 'verificationMemoryInsufficient',
    });
    await expect(check(streams, streams, verifiedMemoryBytesMin - 1, requestOf())).resolves.toBe(
      'The migration is not verified.',
    );
  });

  it.each(['cluster0', 'cluster1'])('is refused if a cluster shows no change stream: %s', async (name) => {
    const [source, destination] = name === 'cluster0' ? [refuses, streams] : [streams, refuses];
    const refusal = {
      error: 'verificationNotSupported',
      errorDescription: expect.stringMatching(new RegExp(`on ${name}: .*40573`)) as unknown,
    };
    await expect(check(source, destination, verifiedMemoryBytesMin)).rejects.toMatchObject(refusal);
  });

  it('is not refused for what passes: the failure is handed on', async () => {
    const locked = answers(() => {
      throw serverError(24, 'LockTimeout');
    });
    await expect(check(streams, locked, verifiedMemoryBytesMin)).rejects.toMatchObject({ code: 24 });
  });

  it('of a reversible migration is accepted with a warning', async () => {
    const reversible = { ...verified, reversible: true };
    await expect(check(streams, streams, verifiedMemoryBytesMin, reversible)).resolves.toMatchObject({
      result: 'warning',
      name: 'reverseNotVerified',
    });
  });
});
