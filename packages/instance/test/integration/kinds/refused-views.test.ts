import type { Document } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { accepts, refuses, startBody } from '../contract/start-conditions.js';

/** Views that an older server has stored, and that one of today refuses or cannot resolve. */
const stored: Readonly<Record<string, Document[]>> = {
  'a collision of paths': [{ _id: 'shop.v', viewOn: 'orders', pipeline: [{ $project: { a: 1, 'a.b': 1 } }] }],
  'a stage that nobody knows': [{ _id: 'shop.v', viewOn: 'orders', pipeline: [{ $outdated: {} }] }],
  'a stage that writes': [{ _id: 'shop.v', viewOn: 'orders', pipeline: [{ $out: 'other' }] }],
  'a circle': [
    { _id: 'shop.v', viewOn: 'w', pipeline: [] },
    { _id: 'shop.w', viewOn: 'v', pipeline: [] },
  ],
  'a clash of collations': [
    { _id: 'shop.w', viewOn: 'orders', pipeline: [], collation: { locale: 'fr' } },
    { _id: 'shop.v', viewOn: 'w', pipeline: [], collation: { locale: 'de' } },
  ],
};

let fixture: Fixture;

afterEach(() => fixture.close());

/** Stores entries as they are: servers look at most of them only when somebody uses the view. */
async function store(entries: readonly Document[]): Promise<void> {
  const shop = fixture.cluster0.client.db('shop');
  await shop.collection('orders').insertOne({ a: { b: 1 } });
  await shop.createCollection('sound', { viewOn: 'orders', pipeline: [] });
  await shop.command({ insert: 'system.views', documents: entries });
}

// Simulated servers take no entry that they would not make themselves.
describe.runIf(process.env['MONGO_BIN'])('a stored view that servers of today refuse', () => {
  it.each(Object.entries(stored))('is named before anything changes: %s', async (_what, entries) => {
    fixture = await Fixture.open('replicaSet', 'replicaSet');
    await store(entries);
    await using instance = await fixture.startInstance();
    await refuses(fixture, instance, startBody(), { status: 422, error: 'viewNotSupported', says: /shop\.v/ });
    await fixture.cluster0.client
      .db('shop')
      .command({ delete: 'system.views', deletes: [{ q: { _id: 'shop.v' }, limit: 1 }] });
    await fixture.cluster0.client
      .db('shop')
      .command({ delete: 'system.views', deletes: [{ q: { _id: 'shop.w' }, limit: 1 }] });
    await accepts(instance, startBody());
  });

  it('is named by the database whose entry is malformed', async () => {
    fixture = await Fixture.open('replicaSet', 'replicaSet');
    await store([{ _id: 'shop.v', viewOn: 5 }]);
    await using instance = await fixture.startInstance();
    const reply = await instance.command('start', startBody());
    expect(reply).toMatchObject({ status: 422, body: { error: 'viewNotSupported' } });
    expect(reply.body.errorDescription).toMatch(/shop\.system\.views is malformed.*remove it/);
  });

  it('keeps a commit from being offered by its name once it is stored while changes are applied', async () => {
    fixture = await Fixture.open('replicaSet', 'replicaSet');
    await store([]).catch(() => undefined);
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    const shop = fixture.cluster0.client.db('shop');
    await shop.command({ insert: 'system.views', documents: stored['a collision of paths'] });
    await instance.until(
      'the view is named',
      ({ canCommit, warnings }) =>
        !canCommit && (warnings ?? []).some(({ description }) => description.includes('shop.v')),
    );
    await shop.command({ delete: 'system.views', deletes: [{ q: { _id: 'shop.v' }, limit: 1 }] });
    await instance.untilCanCommit();
    await instance.commitWhenOffered();
  });
});
