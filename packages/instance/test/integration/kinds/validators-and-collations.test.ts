import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { anyReleases } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, anyReleases);
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

it('documents that their validator refuses are copied, changed and inserted, and the validator stays', async () => {
  const shop = fixture.cluster0.client.db('shop');
  for (const validationLevel of ['strict', 'moderate', 'off']) {
    for (const validationAction of ['error', 'warn']) {
      const name = `${validationLevel}_${validationAction}`;
      await shop.createCollection(name, {
        validator: { $jsonSchema: { required: ['price'], properties: { price: { minimum: 0 } } } },
        validationLevel,
        validationAction,
      });
      await shop
        .collection<{ _id: number; price?: number }>(name)
        .insertMany([{ _id: 1, price: 1 }, { _id: 2, price: -1 }, { _id: 3 }], { bypassDocumentValidation: true });
    }
  }
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  for (const { name } of await shop.listCollections().toArray()) {
    const collection = shop.collection<{ _id: number; price?: number }>(name);
    await collection.updateOne({ _id: 2 }, { $set: { price: -2 } }, { bypassDocumentValidation: true });
    await collection.replaceOne({ _id: 3 }, { price: -3 }, { bypassDocumentValidation: true });
    await collection.insertOne({ _id: 4 }, { bypassDocumentValidation: true });
  }
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');

  await expectEqualDatabases(fixture, 'shop');
  await expect(fixture.cluster1.client.db('shop').collection('strict_error').insertOne({})).rejects.toMatchObject({
    code: 121,
  });
});

it('collections keep their collation, and _ids that differ only in case stay distinct', async () => {
  const shop = fixture.cluster0.client.db('shop');
  const insensitive = await shop.createCollection<{ _id: string | { name: string }; n: number; seen?: boolean }>(
    'insensitive',
    { collation: { locale: 'en', strength: 2 } },
  );
  const numeric = await shop.createCollection<{ _id: string; n: number }>('numeric', {
    collation: { locale: 'fr', numericOrdering: true, caseLevel: true, backwards: true },
  });
  const simple = shop.collection<{ _id: string; n: number }>('simple');
  const admin = fixture.cluster0.client.db('admin');
  await admin.command({ enableSharding: 'shop' });
  await shop.createCollection('placed', { collation: { locale: 'en', strength: 1 } });
  await admin.command({ shardCollection: 'shop.placed', key: { city: 1 }, collation: { locale: 'simple' } });
  await admin.command({ split: 'shop.placed', middle: { city: 'a' } });
  const placed = shop.collection<{ _id: string; city: string; n: number; seen?: boolean }>('placed');
  await insensitive.insertMany(
    Array.from({ length: 300 }, (_, n) => ({ _id: n % 2 === 0 ? `Name ${n}` : { name: `NAME ${n}` }, n })),
  );
  await numeric.insertMany(Array.from({ length: 300 }, (_, n) => ({ _id: `n${n}`, n })));
  await simple.insertMany(['a', 'A', 'ä', 'Ä', 'a\u0308'].map((_id, n) => ({ _id, n })));
  await placed.insertMany(
    Array.from({ length: 300 }, (_, n) => ({ _id: `id ${n}`, city: n % 2 === 0 ? 'Zurich' : 'zurich', n })),
  );
  await insensitive.createIndexes([
    { key: { n: 1 }, name: 'simple', collation: { locale: 'simple' } },
    { key: { n: -1 }, unique: true },
  ]);
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await insensitive.deleteOne({ _id: 'NAME 2' });
  await insensitive.insertOne({ _id: 'nAmE 2', n: 1_000 });
  await insensitive.updateMany({ n: { $lt: 50 } }, { $set: { seen: true } });
  await numeric.replaceOne({ _id: 'n10' }, { n: -1 });
  await placed.deleteMany({ n: { $lt: 20 } });
  await placed.updateOne({ _id: 'id 40', city: 'Zurich' }, { $set: { seen: true } });
  await simple.updateOne({ _id: 'A' }, { $set: { n: 99 } });
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');

  await expectEqualDatabases(fixture, 'shop');
});
