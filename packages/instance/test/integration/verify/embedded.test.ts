import { Double, Long, type MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { EmbeddedMigration, longPatience, patience } from './embedded-migration.js';

interface Order {
  _id: number;
  value: unknown;
  nested?: unknown;
}

const orders = (client: MongoClient) => client.db('shop').collection<Order>('orders');

/** A NaN with a payload. */
const nan = (payload: number): Double => new Double(Buffer.from([payload, 0, 0, 0, 0, 0, 0xf8, 0x7f]).readDoubleLE(0));

async function opened(): Promise<EmbeddedMigration> {
  const migration = await EmbeddedMigration.open();
  const { source } = migration;
  await source.db('admin').command({ enableSharding: 'shop' });
  await source.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  await orders(source).insertMany(
    Array.from({ length: 300 }, (_, _id) => ({ _id, value: _id % 7, nested: { a: 1, b: [1, 2] } })),
  );
  await orders(source).updateOne({ _id: 8 }, { $set: { value: new Double(0) } });
  await orders(source).updateOne({ _id: 9 }, { $set: { value: nan(1) } });
  await source.db('shop').createCollection('log', { capped: true, size: 65_536 });
  await source
    .db('shop')
    .collection<{ _id: number }>('log')
    .insertMany([{ _id: 2 }, { _id: 1 }]);
  await source.db('words').createCollection('list', { collation: { locale: 'en', strength: 2 } });
  await source
    .db('words')
    .collection<{ _id: string }>('list')
    .insertMany([{ _id: 'b' }, { _id: 'A' }]);
  await source
    .db('shop')
    .collection('sessions')
    .createIndexes([{ key: { at: 1 }, name: 'at_1', expireAfterSeconds: 100_000 }]);
  await source
    .db('shop')
    .collection('sessions')
    .insertMany([{ at: new Date() }]);
  return migration;
}

/** Makes seven documents of the destination, and one of a collection with a collation, differ in seven ways. */
async function sabotage({ destination }: EmbeddedMigration): Promise<void> {
  const there = orders(destination);
  await there.updateOne({ _id: 3 }, { $set: { value: 'wrong' } });
  await there.deleteOne({ _id: 4 });
  await there.insertOne({ _id: 1_000, value: 1 });
  await there.replaceOne({ _id: 6 }, { nested: { a: 1, b: [1, 2] }, value: 6 });
  await there.updateOne({ _id: 7 }, { $set: { value: Long.fromNumber(0) } });
  await there.updateOne({ _id: 8 }, { $set: { value: new Double(-0) } });
  await there.updateOne({ _id: 9 }, { $set: { value: nan(2) } });
  await destination.db('words').collection<{ _id: string }>('list').deleteOne({ _id: 'A' });
}

const changed = (_id: string, sourceType: string, destinationType: string) => ({
  namespace: 'shop.orders',
  kind: 'different',
  _id: { $numberInt: _id },
  paths: [{ path: 'value', kind: 'changed', sourceType, destinationType }],
  proven: true,
});
const found = [
  changed('3', 'int', 'string'),
  { namespace: 'shop.orders', kind: 'missingOnDestination', _id: { $numberInt: '4' }, paths: [] },
  { namespace: 'shop.orders', kind: 'extraOnDestination', _id: { $numberInt: '1000' }, paths: [] },
  { namespace: 'shop.orders', kind: 'different', _id: { $numberInt: '6' }, paths: [{ path: '', kind: 'order' }] },
  changed('7', 'int', 'long'),
  changed('8', 'double', 'double'),
  changed('9', 'double', 'double'),
  { namespace: 'words.list', kind: 'missingOnDestination', _id: 'A', paths: [] },
];

test(
  'documents that are made different once a commit has started fail it, each named, and nothing is opened',
  async () => {
    await using migration = await opened();
    await migration.start();
    await migration.untilCanCommit();
    migration.after('commitSealed', () => sabotage(migration));
    expect(await migration.end()).toBe('verificationFailed');
    expect(await migration.failure()).toMatch(/^8 differences .*shop\.orders.*words\.list.*stays closed/);
    const mismatches = await migration.mismatches();
    expect(mismatches).toHaveLength(found.length);
    expect(mismatches).toEqual(expect.arrayContaining(found.map((one) => expect.objectContaining(one) as unknown)));
    expect(await migration.mismatches({ kind: 'extraOnDestination' })).toHaveLength(1);
    expect(await migration.mismatches({ namespace: 'words.list' })).toHaveLength(1);
    expect(await migration.mismatches({ limit: 2 })).toHaveLength(2);
    await migration.restart();
    expect(await migration.mismatches()).toHaveLength(found.length);
    expect(await migration.destination.db('convoy_metadata').collection('migration').findOne()).toMatchObject({
      phase: 'committing',
      canWrite: false,
    });
  },
  patience.timeout * 2,
);

test(
  'documents that are made different while changes are applied withhold the commit until they are re-read',
  async () => {
    await using migration = await opened();
    await migration.start();
    await migration.untilCanCommit();
    await sabotage(migration);
    await expect.poll(async () => (await migration.progress()).canCommit, longPatience).toBe(false);
    // Each counts once it has lasted, independently: between two of them a commit may be offered.
    const contents = async (client: MongoClient): Promise<unknown[]> => [
      await orders(client).find({}, { raw: true }).sort({ _id: 1 }).toArray(),
      await client.db('words').collection('list').countDocuments(),
    ];
    const expected = await contents(migration.source);
    expect(expected[1]).toBe(2);
    await expect.poll(() => contents(migration.destination), longPatience).toEqual(expected);
    await expect.poll(() => migration.mismatches(), longPatience).toEqual([]);
    await migration.untilCanCommit();
    expect(await migration.end()).toBe('COMMITTED');
    expect(await contents(migration.destination)).toEqual(expected);
  },
  patience.timeout * 2,
);

test(
  'what differs despite re-reads withholds the commit, and is named with the reason',
  async () => {
    await using migration = await opened();
    await migration.start();
    await migration.untilCanCommit();
    // No re-read restores the position of a document in a capped collection.
    await migration.destination.db('shop').collection<{ _id: number }>('log').deleteOne({ _id: 2 });
    const warnings = async (): Promise<string> =>
      (await migration.progress()).warnings?.map(({ description }) => description).join() ?? '';
    await expect
      .poll(warnings, longPatience)
      .toContain('1 documents differ, in: shop.log, 1 of them although they were read again 3 times');
    expect((await migration.progress()).canCommit).toBe(false);
    expect(await migration.mismatches()).toMatchObject([
      { namespace: 'shop.log', kind: 'missingOnDestination', proven: true },
    ]);
    await expect(migration.instance.commit()).rejects.toMatchObject({ error: 'cannotCommit' });
  },
  patience.timeout * 2,
);

test(
  'documents made different before their comparison, and written again by the source, are no mismatch',
  async () => {
    await using migration = await opened();
    migration.after('syncStarted', async () => {
      await orders(migration.destination).insertOne({ _id: 2_000, value: 'early' });
    });
    await migration.start();
    await migration.untilCanCommit();
    await sabotage(migration);
    await migration.restart();
    const here = orders(migration.source);
    for (const { _id, ...rest } of await here.find({ _id: { $lt: 10 } }, { promoteValues: false }).toArray())
      await here.replaceOne({ _id }, { ...(rest as Order), again: true } as Order);
    await here.insertMany([
      { _id: 1_000, value: 1 },
      { _id: 2_000, value: 'early' },
    ]);
    await here.deleteMany({ _id: { $in: [1_000, 2_000] } });
    await migration.source
      .db('words')
      .collection<{ _id: string }>('list')
      .updateOne({ _id: 'A' }, { $set: { n: 1 } });
    await orders(migration.source).insertMany(Array.from({ length: 200 }, (_, n) => ({ _id: 3_000 + n, value: n })));
    await migration.source.db('shop').collection<{ _id: number }>('late').insertOne({ _id: 1 });
    await migration.untilCanCommit();
    expect(await migration.end()).toBe('COMMITTED');
    expect(await migration.mismatches()).toEqual([]);
    const { verification } = await migration.progress();
    const side = { phase: 'stream hashing', lagTimeSeconds: 0, scannedCollectionCount: 5, totalCollectionCount: 5 };
    expect(verification).toMatchObject({ source: side, destination: side });
    expect(verification?.source.hashedDocumentCount).toBe(verification?.source.estimatedDocumentCount);
    // Document 2000 was on one side only when it was compared: both sides count it.
    expect(verification?.destination.hashedDocumentCount).toBe(verification?.source.hashedDocumentCount);
    expect(verification?.destination.estimatedDocumentCount).toBe(verification?.source.estimatedDocumentCount);
  },
  patience.timeout * 2,
);

const full = process.env['CONVOY_TEST_FULL'] === '1';

type Sabotage = [
  'commitSealed' | 'documentsVerified' | 'attributesRestored',
  (migration: EmbeddedMigration) => Promise<unknown>,
  string,
  object,
];

const betweenSteps: readonly Sabotage[] = [
  [
    'commitSealed',
    ({ destination }) => orders(destination).deleteOne({ _id: 5 }),
    'verificationFailed',
    { kind: 'missingOnDestination', _id: { $numberInt: '5' } },
  ],
  [
    'attributesRestored',
    ({ destination }) => orders(destination).updateOne({ _id: 5 }, { $set: { value: 0 } }),
    'verificationFailed',
    { kind: 'different', _id: { $numberInt: '5' } },
  ],
  [
    'attributesRestored',
    ({ destination }) => destination.db('shop').collection('sessions').dropIndex('at_1'),
    'catalogDiffers',
    { kind: 'index', namespace: 'shop.sessions' },
  ],
  [
    'documentsVerified',
    ({ destination }) => destination.db('shop').createCollection('extra'),
    'catalogDiffers',
    { kind: 'extra', namespace: 'shop.extra' },
  ],
];

test.each(full ? betweenSteps : betweenSteps.slice(1, 2))(
  'what is made different after the step %s fails the commit (case %#)',
  async (step, act, error, mismatch) => {
    await using migration = await opened();
    await migration.start();
    await migration.untilCanCommit();
    migration.after(step, () => act(migration));
    expect(await migration.end()).toBe(error);
    expect(await migration.mismatches()).toEqual([expect.objectContaining(mismatch)]);
  },
  patience.timeout * 2,
);

test.runIf(full)(
  'documents that the source expires after the commit time, at whatever step, do not fail the commit',
  async () => {
    await using migration = await opened();
    const sessions = migration.source.db('shop').collection<{ _id: number; at: Date }>('sessions');
    const steps = ['commitTimeTaken', 'commitSealed', 'documentsVerified', 'attributesRestored'] as const;
    await sessions.insertMany([...steps.keys()].map((_id) => ({ _id, at: new Date() })));
    await migration.start();
    await migration.untilCanCommit();
    for (const [_id, step] of steps.entries()) migration.after(step, () => sessions.deleteOne({ _id }));
    expect(await migration.end()).toBe('COMMITTED');
    expect(await migration.destination.db('shop').collection('sessions').countDocuments()).toBe(steps.length + 1);
  },
  patience.timeout * 2,
);

test(
  'with buildIndexes never a TTL index is refused at the start, and fails the migration when it comes later',
  async () => {
    await using migration = await opened();
    const never = { buildIndexes: 'never' };
    await expect(migration.start(never)).rejects.toMatchObject({ error: 'ttlCollectionWithVerification' });
    await migration.source.db('shop').collection('sessions').dropIndex('at_1');
    await migration.begin(never);
    await orders(migration.source).createIndexes([{ key: { at: 1 }, name: 'at_1', expireAfterSeconds: 60 }]);
    await expect.poll(() => migration.failure(), patience).toMatch(/TTL indexes: shop\.orders/);
  },
  patience.timeout * 2,
);
