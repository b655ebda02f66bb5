import { Double } from 'bson';
import { describe, expect, it } from 'vitest';
import { DateTime } from '../../../src/bson/value.js';
import { Deployment } from '../../../src/node/deployment.js';
import { type ReleaseSeries, ServerVersion } from '../../../src/node/server-version.js';
import { long, lsid } from './shard-fixture.js';
import { VersionedShard } from './versioned-shard.js';

const nowMs = 1_700_000_000_000;

function at(seconds: number): DateTime {
  return new DateTime(BigInt(nowMs + seconds * 1000));
}

const old = at(-1000);
const documents = [
  { _id: 'old', at: old },
  { _id: 'new', at: at(1000) },
  { _id: 'arr', at: [at(1000), old] },
  { _id: 'arrnew', at: [at(1000)] },
  { _id: 'num', at: 1 },
  { _id: 'null', at: null },
  { _id: 'none' },
  { _id: '1990', at: new DateTime(631_152_000_000n) },
  { _id: 'sub', at: { x: old } },
  { _id: 'mixed', at: ['x', old] },
  { _id: 'nested', at: [[old]] },
];
const all = documents.map(({ _id }) => _id);
const unexpired = ['new', 'arrnew', 'num', 'null', 'none', 'sub', 'nested'];

async function withIndex(
  series: ReleaseSeries,
  spec: object,
  given: readonly object[] = documents,
  options: object = {},
): Promise<VersionedShard> {
  const shard = new VersionedShard(series);
  await prepare(shard, spec, given, options);
  return shard;
}

async function prepare(
  shard: VersionedShard,
  spec: object,
  given: readonly object[],
  options: object = {},
): Promise<void> {
  await shard.run('db', { create: 'c', ...options });
  await shard.run('db', {
    createIndexes: 'c',
    indexes: [{ key: { at: 1 }, name: 'at', expireAfterSeconds: 60, ...spec }],
  });
  await shard.run('db', { insert: 'c', documents: given });
}

async function left(shard: VersionedShard): Promise<unknown[]> {
  shard.shard.removeExpired();
  return (await shard.found('db', { find: 'c' })).map((found) => (found as { _id: unknown })._id);
}

describe('documents that expire', () => {
  it.each<[string, object, readonly string[]]>([
    ['an int', {}, unexpired],
    ['a fraction', { expireAfterSeconds: new Double(60.7) }, unexpired],
    ['no time at all', { expireAfterSeconds: 0 }, unexpired],
    ['a descending index', { key: { at: -1 } }, unexpired],
    ['a hidden index', { hidden: true }, unexpired],
    ['more time than has passed', { expireAfterSeconds: 1001 }, all.filter((id) => id !== '1990')],
  ])('by %s', async (_what, spec, expected) => {
    using shard = await withIndex('5.0', spec);
    expect(await left(shard)).toEqual(expected);
  });

  it('by what a partial index holds, and by no hashed one', async () => {
    using partial = await withIndex('5.0', { partialFilterExpression: { go: true } }, [
      { _id: 1, at: old, go: true },
      { _id: 2, at: old },
    ]);
    expect(await left(partial)).toEqual([2]);
    using hashed = await withIndex('5.0', { key: { at: 'hashed' } }, [{ _id: 1, at: old }]);
    expect(await left(hashed)).toEqual([1]);
  });

  it('in no capped collection', async () => {
    using shard = await withIndex('5.0', {}, [{ _id: 1, at: old }], { capped: true, size: 100_000 });
    expect(await left(shard)).toEqual([1]);
  });

  it('by the _id of clustered collections', async () => {
    using shard = new VersionedShard('6.0');
    await shard.run('db', { create: 'c', clusteredIndex: { key: { _id: 1 }, unique: true }, expireAfterSeconds: 60 });
    await shard.run('db', { insert: 'c', documents: [{ _id: old }, { _id: at(0) }, { _id: 1 }] });
    expect(await left(shard)).toHaveLength(2);
  });

  it.each([
    ['4.4', all, undefined],
    ['5.0', unexpired, 0],
    ['6.0', all, 2_147_483_647],
    ['8.0', all, 2_147_483_647],
  ] as const)('by what is no number of seconds in %s', async (series, expected, listed) => {
    using shard = await withIndex(series, { expireAfterSeconds: new Double(Number.NaN) });
    expect(await left(shard)).toEqual(expected);
    const [, index] = (
      (await shard.json('db', { listIndexes: 'c' })) as { cursor: { firstBatch: { expireAfterSeconds: unknown }[] } }
    ).cursor.firstBatch;
    if (listed !== undefined) expect(index?.expireAfterSeconds).toBe(listed);
  });

  it('are left to the transaction that changes them', async () => {
    using shard = await withIndex('5.0', {}, [
      { _id: 1, at: old },
      { _id: 2, at: old },
    ]);
    const session = { lsid: lsid('a'), txnNumber: long(1), autocommit: false };
    await shard.run('db', {
      update: 'c',
      updates: [{ q: { _id: 1 }, u: { $set: { at: at(0) } } }],
      startTransaction: true,
      ...session,
    });
    expect(await left(shard)).toEqual([1]);
    await shard.run('admin', { commitTransaction: 1, ...session });
    expect(await left(shard)).toEqual([1]);
  });
});

describe('what streams show of them', () => {
  it.each([
    ['6.0', 12],
    ['7.0', 2],
  ] as const)('in %s: a delete of each, at %i times', async (series, times) => {
    using shard = await withIndex(
      series,
      {},
      Array.from({ length: 12 }, (_, _id) => ({ _id, at: old })),
    );
    const stream = await shard.opened('db', [{ $changeStream: {} }]);
    expect(await left(shard)).toEqual([]);
    const events = (await stream.more()) as {
      operationType: string;
      clusterTime: unknown;
      lsid?: unknown;
      documentKey: { _id: number };
    }[];
    expect(events.map(({ operationType, documentKey, lsid }) => [operationType, documentKey._id, lsid])).toEqual(
      Array.from({ length: 12 }, (_, id) => ['delete', id, undefined]),
    );
    expect(new Set(events.map(({ clusterTime }) => JSON.stringify(clusterTime))).size).toBe(times);
  });
});

describe('the monitor', () => {
  it("stands still while users' writes are blocked", async () => {
    const deployment = new Deployment(ServerVersion.parse('6.0'));
    using shard = new VersionedShard('6.0', { deployment });
    await prepare(shard, {}, [{ _id: 1, at: old }]);
    deployment.writeBlock.enabled = true;
    expect(await left(shard)).toEqual([1]);
    deployment.writeBlock.enabled = false;
    expect(await left(shard)).toEqual([]);
  });

  it('can be turned off', async () => {
    using shard = await withIndex('5.0', {}, [{ _id: 1, at: old }]);
    shard.shard.applyParameter('ttlMonitorEnabled', 0);
    expect(await left(shard)).toEqual([1]);
    shard.shard.applyParameter('ttlMonitorEnabled', 1);
    expect(await left(shard)).toEqual([]);
  });

  it('deletes by itself, at the configured interval', async () => {
    using shard = await withIndex('5.0', {}, [{ _id: 1, at: old }]);
    const stream = await shard.opened('db', [{ $changeStream: {} }]);
    shard.shard.applyParameter('ttlMonitorSleepSecs', 0.01);
    await expect.poll(() => stream.more()).toHaveLength(1);
  });
});
