import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { timestampOf } from '../../../../src/cluster/cluster-time.js';
import { checkReverse, requireAnswer } from '../../../../src/lifecycle/leader/reverse.js';
import type { MigrationRecord, MigrationRecords } from '../../../../src/store/migration-record.js';
import { awayError, fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { recordWith, reversalWith, roundWith } from '../../model/migration-state.js';
import { never, once, settled } from '../../model/parts.js';
import { only } from '../../../../../../test/only.js';
import type { Runtime } from '../../../../src/lifecycle/migration/runtime.js';
import type { Clock } from '../../../../src/async/clock.js';

const [former, next] = [
  { name: 'cluster0', clusterId: '01' },
  { name: 'cluster1', clusterId: '02' },
];
/** Commands for the former source's block. */
let sent: unknown[];
/** Shards of the former source and of the new one now. */
let shardIds: string[];
let nextIds: string[];

beforeEach(() => {
  sent = [];
  [shardIds, nextIds] = [['a'], ['b']];
});

function recordIn(phase: MigrationRecord['phase'], turns: number): MigrationRecord {
  const options = parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    reversible: true,
    enableUserWriteBlocking: true,
    verification: { enabled: false },
  });
  const [source, destination] = turns % 2 === 0 ? [former, next] : [next, former];
  return recordWith({
    options,
    phase,
    source,
    destination,
    commit: roundWith({ time: timestampOf(5n), sealed: true }),
    reversal: reversalWith({ turns, openedAt: timestampOf(6n) }),
  });
}

/** @param records found by each read */
async function check(records: MigrationRecord[]): Promise<void> {
  const answer = (command: Document): Document => {
    if ('setUserWriteBlockMode' in command) sent.push(command.global);
    if ('find' in command) return { cursor: { firstBatch: [] } };
    return { operationTime: timestampOf(7n), cursor: { postBatchResumeToken: { _data: '820000000000000009' } } };
  };
  const clusterWith = (ids: string[]) => {
    const listed = { shards: ids.map((_id) => ({ _id, host: `${_id}/host:1` })) };
    const router = new FakeNodeClient('router', (command) => ('listShards' in command ? listed : answer(command)));
    return fakeCluster({ router, version: [6, 0, 0] });
  };
  await checkReverse({
    runtime: only<Runtime>({ retrying: once }),
    records: only<MigrationRecords>({ read: () => Promise.resolve(records.shift() ?? null) }),
    former: { ...clusterWith(shardIds), ...former },
    next: { ...clusterWith(nextIds), ...next },
    record: recordIn('committed', 0),
    committed: () => Promise.resolve([]),
    signal: never,
  });
}

it('user writes on the former source are blocked before a reverse', async () => {
  await check([recordIn('committed', 0), recordIn('committed', 0)]);
  expect(sent).toEqual([true]);
});

it('a shard that has joined one of the clusters, or left it, refuses a reverse', async () => {
  for ([shardIds, nextIds] of [
    [['a', 'c'], ['b']],
    [[], ['b']],
    [['a'], ['b', 'c']],
  ] as [string[], string[]][])
    await expect(check([recordIn('committed', 0)])).rejects.toMatchObject({ error: 'reversibleNeedsEqualShardCounts' });
  expect(sent).toEqual([]);
});

it.each([
  ['stays closed when others have reversed the migration meanwhile', recordIn('syncing', 1), [true]],
  [
    'is allowed again when they have committed the migration back to that cluster',
    recordIn('committed', 1),
    [true, false],
  ],
  ['is allowed again when they have reversed it once more', recordIn('syncing', 2), [true, false]],
])('by a process that was frozen there it %s', async (_what, found, expected) => {
  await check([recordIn('committed', 0), found, found]);
  expect(sent).toEqual(expected);
});

it('it stays open when they have committed the migration back to it before', async () => {
  await check([recordIn('committed', 1)]);
  expect(sent).toEqual([false]);
});

const away = awayError();

it.each([
  ['is unreachable', () => Promise.reject(away), 'sourceUnavailable'],
  ['has a name that no name server knows', () => Promise.reject(new Error('querySrv ENOTFOUND')), 'sourceUnavailable'],
  ['does not answer in time', () => new Promise<never>(() => undefined), 'sourceUnavailable'],
  ['is another cluster', () => Promise.reject(new ConvoyError('wrongCluster')), 'wrongCluster'],
])('a former source that %s refuses a reverse', async (_what, command: () => Promise<Document>, error) => {
  const cluster = fakeCluster({ router: Object.assign(new FakeNodeClient('router', () => ({})), { command }) });
  await expect(
    requireAnswer(only<Runtime>({ clock: only<Clock>({ sleep: settled }) }), cluster, never),
  ).rejects.toMatchObject({
    error,
  });
});

it('every shard has to answer where shards are read directly', async () => {
  const asked: string[] = [];
  const client = (name: string) => new FakeNodeClient(name, () => ({ ok: asked.push(name) }));
  const cluster = fakeCluster({
    router: client('router'),
    shards: new Map([
      ['shard0', client('shard0')],
      ['shard1', client('shard1')],
    ]),
  });
  await requireAnswer(
    only<Runtime>({ clock: only<Clock>({ sleep: () => new Promise(() => undefined) }) }),
    cluster,
    never,
  );
  expect(asked).toEqual(['router', 'shard0', 'shard1']);
});
