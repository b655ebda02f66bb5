import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { MongoServerError } from 'mongodb';
import { expect, it } from 'vitest';
import { releaseSource } from '../../../../src/lifecycle/instance/own-tasks.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { depsWith } from '../../model/deps-with.js';
import { viewWith } from '../../model/migration-state.js';
import { never, once } from '../../model/parts.js';

interface Fixture {
  phase?: 'syncing' | 'committing';
  hasFailed?: boolean;
  refusals?: number;
  isCleanedUp?: boolean;
}

/** @returns the numbers of commands to the source and of waits, and whether the release is recorded */
async function run({
  phase = 'committing',
  hasFailed = true,
  refusals = 0,
  isCleanedUp = false,
}: Fixture): Promise<{ asked: number; waited: number; isNoted: boolean }> {
  const seen = { asked: 0, waited: 0, isNoted: false };
  const options = parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    enableUserWriteBlocking: true,
    verification: { enabled: false },
  });
  const clusterId = '0a';
  const view = viewWith({
    source: { name: 'cluster0', clusterId },
    options,
    phase,
    failure: hasFailed ? { error: 'writeRefused', errorDescription: '' } : null,
  });
  const setUserWriteBlockMode = () => {
    seen.asked += 1;
    if (seen.asked <= refusals) throw new MongoServerError({ code: 13, codeName: 'Unauthorized', message: '' });
    return { ok: 1 };
  };
  const cluster = fakeCluster({
    router: new FakeNodeClient('source', { setUserWriteBlockMode }),
    kind: 'replicaSet',
    shardIds: ['rs'],
    clusterId,
  });
  const deps = depsWith({
    runtime: {
      retrying: once,
      logger: { error: () => undefined },
      clock: { sleep: () => Promise.resolve(void (seen.waited += 1)) },
    },
    source: cluster,
    destination: cluster,
    records: {
      read: () => Promise.resolve(view.record),
      noteSourceReleased: () => Promise.resolve(void (seen.isNoted = true)),
    },
    watch: {
      refresh: () => (isCleanedUp ? Promise.reject(new ConvoyError('destinationChanged')) : Promise.resolve(view)),
    },
  });
  await releaseSource(deps, never);
  return seen;
}

it('a source that a failed commit has blocked is unblocked', async () => {
  expect(await run({})).toEqual({ asked: 1, waited: 0, isNoted: true });
});

it('a source that refuses is retried until it takes writes', async () => {
  expect(await run({ refusals: 3 })).toEqual({ asked: 4, waited: 3, isNoted: true });
});

it('nothing is unblocked before a commit, without a failure, or after a cleanup', async () => {
  for (const fixture of [{ phase: 'syncing' as const }, { hasFailed: false }, { isCleanedUp: true }])
    expect(await run(fixture)).toEqual({ asked: 0, waited: 0, isNoted: false });
});
