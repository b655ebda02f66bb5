import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { Document } from 'mongodb';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { only } from '../../../../../../test/only.js';
import type { ClusterClient } from '../../../../src/cluster/node-client.js';
import type { InstanceConfig } from '../../../../src/config/instance-schema.js';
import { lift, unblock } from '../../../../src/lifecycle/instance/unblock.js';
import type { ClusterName, Connect } from '../../../../src/lifecycle/migration/clusters.js';
import type { MigrationPhase } from '../../../../src/store/migration-record.js';
import { FakeNodeClient, fakeCluster, serverError } from '../../fake-node-client.js';
import { never, once } from '../../model/parts.js';

let sent: unknown[];

beforeEach(() => {
  sent = [];
});

/** @param phases of the migration, at each read; the last one stays */
async function unblockSource(
  phases: (MigrationPhase | 'failed')[],
  version: ClusterClient['version'] = [6, 0, 0],
): Promise<void> {
  const options = parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    enableUserWriteBlocking: true,
    verification: { enabled: false },
  });
  const record = (): Document => {
    const phase = phases.length > 1 ? phases.shift() : phases[0];
    const state =
      phase === 'failed' ? { phase: 'committing', failure: { error: 'writeRefused' } } : { phase, failure: null };
    return { ...state, options, source: { clusterId: '01' }, destination: { clusterId: '02' } };
  };
  const setUserWriteBlockMode = (_database: string, { global }: Document): Document => {
    sent.push(global);
    return { ok: 1 };
  };
  const source = new FakeNodeClient('source', { setUserWriteBlockMode, find: () => ({ cursor: { firstBatch: [] } }) });
  const destination = new FakeNodeClient('destination', { find: () => ({ cursor: { firstBatch: [record()] } }) });
  const [one, other] = [
    fakeCluster({ router: source, shardIds: ['a'] }),
    fakeCluster({ router: destination, shardIds: ['a'] }),
  ];
  await lift({ ...one, version, clusterId: '01' }, { ...other, clusterId: '02' }, once, never);
}

it('a source is unblocked after a commit, and not during it', async () => {
  await unblockSource(['committed']);
  expect(sent).toEqual([false]);
  await expect(unblockSource(['committing'])).rejects.toMatchObject({ error: 'migrationLives' });
  expect(sent).toEqual([false]);
});

it('a source that a commit has just blocked is blocked again', async () => {
  await expect(unblockSource(['syncing', 'committing'])).rejects.toMatchObject({ error: 'migrationLives' });
  expect(sent).toEqual([false, true]);
});

it('a source that a failed commit releases meanwhile stays unblocked', async () => {
  await unblockSource(['syncing', 'committing', 'failed']);
  expect(sent).toEqual([false, true, false]);
});

it('a server before 6.0 has no block, and gets no command', async () => {
  await expect(unblockSource(['committed'], [5, 0, 7])).rejects.toMatchObject({
    error: 'writeBlockingFailed',
    errorDescription: expect.stringMatching(/^cluster0 runs 5\.0\.7: .*none to lift/) as unknown,
  });
  expect(sent).toEqual([]);
});

it('an open destination is unblocked without its source', async () => {
  const options = parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    enableUserWriteBlocking: true,
    verification: { enabled: false },
  });
  const record = {
    phase: 'committed',
    failure: null,
    options,
    source: { clusterId: '01' },
    destination: { clusterId: '02' },
  };
  const router = new FakeNodeClient('destination', {
    setUserWriteBlockMode: () => ({ ok: sent.push('set') }),
    find: () => ({ cursor: { firstBatch: [record] } }),
  });
  await lift({ ...fakeCluster({ router, shardIds: ['a'] }), version: [6, 0, 0], clusterId: '02' }, null, once, never);
  expect(sent).toEqual(['set']);
});

describe('a cluster that was opened as a destination', () => {
  const options = parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    enableUserWriteBlocking: true,
    verification: { enabled: false },
  });
  const [zero, one] = [
    { name: 'cluster0', clusterId: '00' },
    { name: 'cluster1', clusterId: '01' },
  ];
  const committed = { phase: 'committed', failure: null, options, source: zero, destination: one };
  const back = { phase: 'committing', failure: null, options, source: one, destination: zero };
  let records: Record<ClusterName, Document | null>;
  /** How the source of the committed migration answers. */
  let reached: (signal: AbortSignal) => Promise<unknown>;
  let closed: string[];

  beforeEach(() => {
    records = { cluster0: null, cluster1: committed };
    reached = () => Promise.resolve();
    closed = [];
  });

  const connect: Connect = async (_config, name, _access, signal) => {
    if (name === 'cluster0') await reached(signal);
    const find = (): Document => ({ cursor: { firstBatch: [records[name]].filter((record) => record !== null) } });
    const router = new FakeNodeClient(name, {
      setUserWriteBlockMode: (_database, { global }) => ({ ok: sent.push(`${name}: ${global}`) }),
      find,
    });
    const { clusterId } = name === 'cluster0' ? zero : one;
    return {
      ...fakeCluster({ router, name, clusterId, version: [6, 0, 0] }),
      close: () => Promise.resolve(void closed.push(name)),
    };
  };

  const run = (): Promise<void> => unblock(only<InstanceConfig>({}), 'cluster1', never, connect);

  it('stays blocked as the source of another migration that commits', async () => {
    records.cluster0 = back;
    await expect(run()).rejects.toMatchObject({ error: 'migrationLives' });
    expect(sent).toEqual([]);
    expect(closed).toEqual(['cluster0', 'cluster1']);
  });

  it.each([
    ['is gone from the name service', () => Promise.reject(new Error('querySrv ENOTFOUND'))],
    [
      'does not answer',
      (signal: AbortSignal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    ],
    ['answers too late', (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener('abort', resolve))],
  ])('is unblocked where its source %s', async (_, how) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    reached = how;
    const ended = run();
    await vi.advanceTimersByTimeAsync(5_000);
    await ended;
    expect(sent).toEqual(['cluster1: false']);
    expect(closed).toContain('cluster1');
  });

  it('is not unblocked where its source answers and cannot be read', async () => {
    reached = () => Promise.reject(serverError(18, 'AuthenticationFailed'));
    await expect(run()).rejects.toMatchObject({ codeName: 'AuthenticationFailed' });
    expect(sent).toEqual([]);
  });
});
