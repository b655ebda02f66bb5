import { afterEach, describe, expect, it } from 'vitest';
import type { ReleaseSeries } from '@convoy/simulator';
import { Fixture } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';

let fixture: Fixture;

afterEach(() => fixture.close());

const held = 'commitHeldByDuplicates';
/** The verifier would find the documents before indexes are made unique. */
const unverified = { verification: { enabled: false } };

interface Item {
  _id: number;
  name: string;
  size?: number;
}

interface Listed {
  namespace: string;
  kind: string;
  _id: { $numberInt: string };
  detail: string;
}

async function mismatches(instance: ServedInstance): Promise<Listed[]> {
  const reply = await fetch(`${instance.url}/api/v1/verification/mismatches`);
  return (await reply.text())
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Listed);
}

async function untilHeld(instance: ServedInstance): Promise<void> {
  const { state, canWrite, warnings, currentStep } = await instance.until(
    'duplicates hold the commit',
    (progress) => progress.warnings?.some(({ name }) => name === held) ?? false,
  );
  expect([state, canWrite]).toEqual(['COMMITTING', false]);
  expect(currentStep).toMatchObject({ name: 'restoreIndexes', number: 4, count: 7 });
  expect(currentStep?.description).toMatch(/^Documents with the same key of a unique index hold the commit\./);
  expect(Date.parse(currentStep?.since ?? '')).toBeGreaterThan(Date.now() - 600_000);
  const reported = warnings?.find(({ name }) => name === held)?.description;
  expect(reported).toMatch(
    /shop\.items.*name_1.*shop\.items.*size_1_color_1|shop\.items.*size_1_color_1.*shop\.items.*name_1/,
  );
  expect(reported).not.toContain('not to be shown');
}

describe('documents on the destination that share a key of a unique index', () => {
  it.each<ReleaseSeries>(['5.0', '6.0'])(
    'hold the commit until they are removed, and are listed, also after a restart (destination %s)',
    async (cluster1) => {
      fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '5.0', cluster1 });
      const [source, destination] = [fixture.cluster0, fixture.cluster1].map(({ client }) =>
        client.db('shop').collection<Item>('items'),
      );
      if (!source || !destination) throw new Error('There must be two clusters.');
      await source.createIndexes([
        { key: { name: 1 }, unique: true },
        { key: { size: 1, color: 1 }, unique: true, partialFilterExpression: { size: { $gt: 0 } } },
      ]);
      await source.insertMany([
        { _id: 1, name: 'not to be shown' },
        { _id: 2, name: 'b', size: 7 },
        { _id: 3, name: 'c' },
      ]);
      {
        await using instance = await fixture.startInstance();
        await instance.accepted('start', startBody(unverified));
        await instance.untilCanCommit();
        await destination.insertMany([
          { _id: 101, name: 'not to be shown' },
          { _id: 102, name: 'd', size: 7 },
        ]);
        await instance.accepted('commit');
        await untilHeld(instance);
      }
      await using instance = await fixture.startInstance();
      await untilHeld(instance);
      const listed = await mismatches(instance);
      expect(
        listed.map(({ namespace, kind, _id, detail }) => [namespace, kind, Number(_id.$numberInt), detail]).sort(),
      ).toEqual([
        ['shop.items', 'duplicate', 1, 'shares a key of the unique index name_1'],
        ['shop.items', 'duplicate', 101, 'shares a key of the unique index name_1'],
        ['shop.items', 'duplicate', 102, 'shares a key of the unique index size_1_color_1'],
        ['shop.items', 'duplicate', 2, 'shares a key of the unique index size_1_color_1'],
      ]);
      expect(JSON.stringify(listed)).not.toContain('not to be shown');

      await destination.deleteMany({ _id: { $gt: 100 } });
      const committed = await instance.untilState('COMMITTED');
      expect(committed).toMatchObject({ canWrite: true });
      expect(committed.warnings?.map(({ name }) => name)).not.toContain(held);
      expect(await mismatches(instance)).toEqual([]);
      await expect(destination.insertOne({ _id: 4, name: 'b' })).rejects.toMatchObject({ code: 11_000 });
      expect(
        (await destination.indexes())
          .filter(({ unique }) => unique)
          .map(({ name }) => name)
          .sort(),
      ).toEqual(['name_1', 'size_1_color_1']);
    },
  );

  it('hold a commit that ends, though the source expires more meanwhile than fits into memory', async () => {
    fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '5.0', cluster1: '5.0' });
    const [source, destination] = [fixture.cluster0, fixture.cluster1].map(({ client }) => client.db('shop'));
    if (!source || !destination) throw new Error('There must be two clusters.');
    await source.collection('orders').createIndexes([{ key: { n: 1 }, unique: true }]);
    await source.collection('orders').insertOne({ n: 1 });
    const sessions = source.collection<{ _id: string; at: Date }>('sessions');
    await sessions.createIndexes([{ key: { at: 1 }, expireAfterSeconds: 3600 }]);
    // The events of their deletes are larger than the buffers of one of the two tasks.
    const padding = 'x'.repeat(16 * 1024);
    await sessions.insertMany(Array.from({ length: 1_200 }, (_, n) => ({ _id: `${n}${padding}`, at: new Date() })));
    await using instance = await fixture.startInstance({ memoryBytesMax: '64MB' });
    await instance.accepted('start', startBody(unverified));
    await instance.untilCanCommit();
    await destination.collection('orders').insertOne({ n: 1, isOfAnother: true });
    await instance.accepted('commit');
    await instance.until(
      'duplicates hold the commit',
      ({ warnings }) => warnings?.some(({ name }) => name === held) ?? false,
    );
    await sessions.deleteMany({});
    await destination.collection('orders').deleteOne({ isOfAnother: true });
    await instance.untilState('COMMITTED');
  });

  it('fail the migration if they still exist after the retry limit, and the source accepts writes again', async () => {
    fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '6.0', cluster1: '6.0', withUsers: true });
    const orders = fixture.cluster0.shopper.db('shop').collection('orders');
    await orders.createIndexes([{ key: { n: 1 }, unique: true }]);
    await orders.insertOne({ n: 1 });
    await using instance = await fixture.startInstance({ retry_minutes: 0.05 });
    await instance.accepted('start', startBody({ enableUserWriteBlocking: true, ...unverified }));
    await instance.untilCanCommit();
    await fixture.cluster1.client.db('shop').collection('orders').insertOne({ n: 1 });
    await instance.accepted('commit');
    await expect.poll(async () => (await instance.progressReply()).body.error as unknown).toBe('uniqueIndexViolated');
    expect(await mismatches(instance)).toHaveLength(2);
    await expect.poll(() => orders.insertOne({ n: 2 }).then(() => 'taken', String)).toBe('taken');
    await expect(fixture.cluster1.shopper.db('shop').collection('orders').insertOne({ n: 3 })).rejects.toMatchObject({
      code: 371,
    });
  });
});
