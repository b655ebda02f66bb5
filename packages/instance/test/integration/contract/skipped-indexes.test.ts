import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Document, MongoClient, ObjectId } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { type EndedComparison, runComparison } from '../../../src/process/comparison.js';
import { Fixture, type Side } from './fixture.js';
import type { ServedInstance } from './served-instance.js';
import { refuses, startBody } from './start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  // Before 6.0 every shard makes an index unique for itself.
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '5.0', cluster1: '5.0' });
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

const documents = Array.from({ length: 200 }, (_, n) => ({ n, region: n % 10, a: [n], b: n }));
const stray = new ObjectId();
const arrays = { key: { a: 1, b: 1 }, name: 'arrays' };
/** Only one shard has it. */
const partial = { key: { partial: 1 }, name: 'partial' };

/** A collection whose documents are on all shards. */
async function fillOrders(): Promise<void> {
  const { client } = fixture.cluster0;
  const admin = client.db('admin');
  const [first, ...others] = await shardsOf(fixture.cluster0);
  await admin.command({ enableSharding: 'shop', primaryShard: first?._id });
  await admin.command({ shardCollection: 'shop.orders', key: { region: 1 } });
  for (const [index, { _id }] of others.entries()) {
    const region = 5 + index;
    await admin.command({ split: 'shop.orders', middle: { region } });
    await admin.command({ moveChunk: 'shop.orders', find: { region }, to: _id });
  }
  await orders().insertMany(documents.map((document) => ({ ...document })));
}

const orders = (side: Side = fixture.cluster0) => side.client.db('shop').collection('orders');

async function shardsOf({ client }: Side): Promise<{ _id: string; host: string }[]> {
  const { shards } = await client.db('admin').command({ listShards: 1 });
  return shards as { _id: string; host: string }[];
}

async function onFirstShard(command: Document): Promise<void> {
  const [first] = await shardsOf(fixture.cluster0);
  const host = (first?.host ?? '').split('/').at(-1) ?? '';
  await using client = await new MongoClient(`mongodb://${host}/?directConnection=true`).connect();
  await client.db('shop').command(command);
}

async function namesOn(side: Side): Promise<string[]> {
  const found: Document[] = await orders(side).indexes();
  return found.map(({ name, unique }) => `${String(name)}${unique === true ? ' unique' : ''}`).sort();
}

/** Waits for a warning of progress; null: that there is none of the name. */
function untilWarned(instance: ServedInstance, name: string, text: RegExp | null): Promise<unknown> {
  return instance.until(`${name} is ${text?.source ?? 'gone'}`, ({ warnings }) => {
    const found = (warnings ?? []).find((warning) => warning.name === name)?.description;
    return text === null ? found === undefined : found !== undefined && text.test(found);
  });
}

/** What `convoy verify` finds. */
async function compared(): Promise<EndedComparison> {
  const { cluster0, cluster1 } = fixture;
  const flags = { cluster0: cluster0.connectionString, cluster1: cluster1.connectionString };
  const folder = mkdtempSync(join(tmpdir(), 'convoy-skipped-'));
  try {
    return await runComparison(
      {
        config: parseInstanceConfig({ flags }),
        source: 'cluster0',
        destination: 'cluster1',
        filter: { includeNamespaces: [], excludeNamespaces: [] },
        options: {
          rule: { settle_ms: 0, looksMin: 3 },
          generationsMax: 3,
          readers: 2,
          record_ms: 10_000,
          shardKeys: true,
        },
        folder: join(folder, 'state'),
        restart: false,
      },
      { began: () => undefined, retry: () => undefined, ended: () => Promise.resolve() },
      new AbortController().signal,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('indexes that differ or cannot be built', () => {
  it('are refused by name: by default, without a majority, and where documents expire', async () => {
    await fillOrders();
    await onFirstShard({ createIndexes: 'orders', indexes: [partial] });
    await using instance = await fixture.startInstance();
    const inconsistent = { status: 422, error: 'inconsistentIndexes' } as const;
    await refuses(fixture, instance, startBody(), { ...inconsistent, says: /partial of shop\.orders.*indexConflicts/ });
    const majority = startBody({ indexConflicts: 'majority' });
    await refuses(fixture, instance, majority, { ...inconsistent, says: /partial of shop\.orders.*no form has a maj/ });
    const ttl = { ...partial, name: 'ttl', key: { ttl: 1 }, expireAfterSeconds: 100_000 };
    await onFirstShard({ createIndexes: 'orders', indexes: [ttl] });
    const skip = startBody({ indexConflicts: 'skip' });
    await refuses(fixture, instance, skip, { ...inconsistent, says: /ttl of shop\.orders.*expires documents/ });
  });

  it('are skipped by name, tried anew once they come back, and no difference to the verifier', async () => {
    await fillOrders();
    await onFirstShard({ createIndexes: 'orders', indexes: [partial] });
    await orders().createIndexes([{ key: { region: 1, n: 1 }, name: 'u', unique: true }]);
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    const choices = { indexConflicts: 'skip', indexFailures: 'skip' };
    await instance.accepted('start', startBody({ ...choices, verification: { enabled: false } }));
    await instance.untilCanCommit();
    await untilWarned(instance, 'indexesChosen', /partial of shop\.orders \(differs on shard1, skipped\)/);
    const before = await namesOn(fixture.cluster1);
    expect(before).toHaveLength(3);
    expect(before).not.toContain('partial');

    // A document that only the destination has: no index can hold its two arrays, and no unique one its key.
    await orders(fixture.cluster1).insertOne({ _id: stray, n: 7, region: 7, a: [1, 2], b: [1, 2] });
    await orders().createIndexes([arrays]);
    await untilWarned(instance, 'indexesSkipped', /arrays of shop\.orders \(CannotIndexParallelArrays \(171\)\)/);
    await orders().dropIndex('arrays');
    await untilWarned(instance, 'indexesSkipped', null);
    await orders().createIndexes([arrays]);
    await untilWarned(instance, 'indexesSkipped', /arrays of shop\.orders/);
    // All shards have it now: nothing is to be chosen.
    await orders().createIndexes([partial]);
    await untilWarned(instance, 'indexesChosen', null);
    await expect.poll(() => namesOn(fixture.cluster1)).toContain('partial');

    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    await untilWarned(instance, 'indexesNotUnique', /u of shop\.orders/);
    expect(await namesOn(fixture.cluster0)).toEqual(['_id_', 'arrays', 'partial', 'region_1', 'u unique']);
    expect(await namesOn(fixture.cluster1)).toEqual(['_id_', 'partial', 'region_1', 'u']);

    await orders(fixture.cluster1).deleteOne({ _id: stray });
    const { verdict, differences, skippedIndexes } = await compared();
    expect([verdict, differences, skippedIndexes.map(({ index }) => index)]).toEqual(['equal', [], ['arrays', 'u']]);
    await fixture.cluster1.client.db('convoy_metadata').dropDatabase();
    expect((await compared()).differences.map(({ detail }) => detail)).toEqual([
      'u differs in unique',
      'arrays is missing',
    ]);
  });

  it('that only some shards of the destination could make unique hold the commit until all can', async () => {
    await fillOrders();
    await orders().createIndexes([{ key: { region: 1, n: 1 }, name: 'u', unique: true }]);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody({ verification: { enabled: false } }));
    await instance.untilCanCommit();
    await orders(fixture.cluster1).insertOne({ _id: stray, n: 7, region: 7 });
    await instance.accepted('commit');
    const attempts = async (): Promise<number> => {
      const reply = await fetch(`${instance.url}/api/v1/verification/mismatches`);
      const [line = ''] = (await reply.text()).split('\n');
      return line === '' ? 0 : (JSON.parse(line) as { looks: number }).looks;
    };
    await expect.poll(attempts).toBeGreaterThan(1);
    expect((await instance.progress()).state).not.toBe('COMMITTED');
    await orders(fixture.cluster1).deleteOne({ _id: stray });
    await instance.untilState('COMMITTED');
    await expect(orders(fixture.cluster1).insertOne({ n: 7, region: 7 })).rejects.toMatchObject({ code: 11_000 });
  });
});

it('of three shards most decide which indexes there are', async () => {
  await fixture.close();
  fixture = await Fixture.open({ shards: 3 }, { shards: 2 }, { cluster0: '5.0', cluster1: '5.0' });
  await fillOrders();
  await onFirstShard({ createIndexes: 'orders', indexes: [partial] });
  await orders().createIndexes([{ key: { n: 1 }, name: 'most' }]);
  await onFirstShard({ dropIndexes: 'orders', index: 'most' });
  await using instance = await fixture.startInstance();
  const [first] = await shardsOf(fixture.cluster0);
  await instance.accepted('start', startBody({ indexConflicts: 'majority' }));
  await instance.untilCanCommit();
  await untilWarned(instance, 'indexesChosen', new RegExp(`most of shop.orders .*${first?._id ?? ''}`));
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  expect(await namesOn(fixture.cluster1)).toEqual(['_id_', 'most', 'region_1']);
});
