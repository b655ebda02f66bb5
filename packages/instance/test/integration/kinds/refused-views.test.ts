import type { Document } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { checkNames, convoyCheck } from '../contract/convoy-check.js';
import { Fixture } from '../contract/fixture.js';
import { areReal } from '../contract/releases.js';
import { accepts, refuses, startBody } from '../contract/start-conditions.js';

/** Of `system.views`. */
interface Entry extends Document {
  _id: string;
}

/** Views that an older server has stored, and that one of today refuses or cannot resolve. */
const stored: Readonly<Record<string, Entry[]>> = {
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

/** Writes entries as a restored oplog does: servers look at most of them only when somebody uses the view. */
async function replay(operations: readonly Document[]): Promise<void> {
  const applyOps = operations.map((operation) => ({ ns: 'shop.system.views', ...operation }));
  expect(await fixture.cluster0.client.db('admin').command({ applyOps })).toMatchObject({ ok: 1 });
}

function store(entries: readonly Entry[]): Promise<void> {
  return replay(entries.map((o) => ({ op: 'i', o })));
}

function remove(entries: readonly Entry[]): Promise<void> {
  return replay(entries.map(({ _id }) => ({ op: 'd', o: { _id } })));
}

async function load(): Promise<void> {
  const shop = fixture.cluster0.client.db('shop');
  await shop.collection('orders').insertOne({ a: { b: 1 } });
  await shop.createCollection('sound', { viewOn: 'orders', pipeline: [] });
}

// Simulated servers take no entry that they would not make themselves.
describe.runIf(areReal)('a stored view that servers of today refuse', () => {
  it.each(Object.entries(stored))('is named before anything changes: %s', async (_what, entries) => {
    fixture = await Fixture.open('replicaSet', 'replicaSet');
    await load();
    await store(entries);
    const refusal = { error: 'viewNotSupported', says: /shop\.v/ } as const;
    await checkNames(fixture, refusal);
    await using instance = await fixture.startInstance();
    await refuses(fixture, instance, startBody(), { status: 422, ...refusal });
    await remove(entries);
    await accepts(instance, startBody());
  });

  it('is named by the database whose entry is malformed', async () => {
    fixture = await Fixture.open('replicaSet', 'replicaSet');
    await load();
    await store([{ _id: 'shop.v', viewOn: 5 }]);
    const says = /shop\.system\.views is malformed.*remove it/;
    // Nobody can list what is in the database.
    const { canStart, items } = await convoyCheck(fixture);
    expect(canStart).toBe(false);
    const failed = items.filter(({ result }) => result === 'failed');
    expect(failed).toMatchObject([{ error: 'viewNotSupported', description: expect.stringMatching(says) as unknown }]);
    await using instance = await fixture.startInstance();
    const reply = await instance.command('start', startBody());
    expect(reply).toMatchObject({ status: 422, body: { error: 'viewNotSupported' } });
    expect(reply.body.errorDescription).toMatch(says);
    expect(await fixture.cluster1.databases()).toEqual([]);
  });

  it('keeps a commit from being offered by its name once it is stored while changes are applied', async () => {
    fixture = await Fixture.open('replicaSet', 'replicaSet');
    await load();
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    const entries = stored['a collision of paths'] ?? [];
    await store(entries);
    await instance.until(
      'the view is named',
      ({ canCommit, warnings }) =>
        !canCommit && (warnings ?? []).some(({ description }) => description.includes('shop.v')),
    );
    await remove(entries);
    await instance.untilCanCommit();
    await instance.commitWhenOffered();
  });
});
