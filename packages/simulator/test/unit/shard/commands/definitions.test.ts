import { describe, expect, it } from 'vitest';
import { failureOf, ShardFixture } from '../shard-fixture.js';
import { streamStage } from '../change-stream/stream-stage.js';
import { VersionedShard } from '../versioned-shard.js';

describe('indexes', () => {
  it('are built all or none, and answered when they are there', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', {
      insert: 'c',
      documents: [
        { _id: 1, a: 2 },
        { _id: 2, a: 2 },
        { _id: 3, a: 1 },
        { _id: 4, a: 1 },
      ],
    });
    const failed = await failureOf(
      fixture.run('db', {
        createIndexes: 'c',
        indexes: [
          { key: { b: 1 }, name: 'b_1' },
          { key: { a: 1 }, name: 'a_1', unique: true },
        ],
      }),
    );
    expect(failed.code).toBe(11000);
    expect(failed.message).toMatch(
      new RegExp(
        '^Index build failed: [0-9a-f-]{36}: Collection db\\.c \\( [0-9a-f-]{36} \\) :: caused by :: ' +
          'E11000 duplicate key error collection: db\\.c index: a_1 dup key: \\{ a: 1 \\}$',
      ),
    );
    expect(fixture.shard.access.collection('db.c')?.indexes).toHaveLength(1);
    const reply = await fixture.json('db', { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a_1' }] });
    expect(reply).toEqual({
      numIndexesBefore: 1,
      numIndexesAfter: 2,
      createdCollectionAutomatically: false,
      commitQuorum: 'votingMembers',
    });
    const again = await fixture.json('db', { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a_1' }] });
    expect(again).toEqual({
      numIndexesBefore: 2,
      numIndexesAfter: 2,
      note: 'all indexes already exist',
      commitQuorum: 'votingMembers',
    });
    expect(
      await failureOf(fixture.run('db', { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'other' }] })),
    ).toEqual({
      code: 85,
      message: 'Index already exists with a different name: a_1',
    });
  });

  it('may stand unique beside plain under another name', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'plain' }] });
    await fixture.run('db', { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'unique', unique: true }] });
    await fixture.run('db', { dropIndexes: 'c', index: 'plain' });
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1, a: 1 }] });
    const reply = await fixture.json('db', { insert: 'c', documents: [{ _id: 2, a: 1 }] });
    expect(reply['n']).toBe(0);
  });

  it('change their expiry and visibility through collMod', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', {
      createIndexes: 'c',
      indexes: [{ key: { t: 1 }, name: 'ttl', expireAfterSeconds: 3600 }],
    });
    const reply = await fixture.json('db', { collMod: 'c', index: { name: 'ttl', expireAfterSeconds: 2_147_483_647 } });
    expect(reply).toEqual({ expireAfterSeconds_old: 3600, expireAfterSeconds_new: 2_147_483_647 });
  });

  it('know neither an expiry before 1970 nor prepareUnique until 5.0', async () => {
    using fixture = new VersionedShard('5.0');
    await fixture.run('db', {
      createIndexes: 'c',
      indexes: [{ key: { t: 1 }, name: 'ttl', expireAfterSeconds: 3600 }],
    });
    const refused = await failureOf(
      fixture.run('db', {
        createIndexes: 'c',
        indexes: [{ key: { u: 1 }, name: 'u', expireAfterSeconds: 2_147_483_647 }],
      }),
    );
    expect(refused.code).toBe(67);
    expect(
      await failureOf(fixture.run('db', { collMod: 'c', index: { name: 'ttl', prepareUnique: true } })),
    ).toMatchObject({ code: 40415 });
  });
});

describe('validators', () => {
  it('refuse documents unless bypassed', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { create: 'c', validator: { a: { $gt: 0 } } });
    const reply = await fixture.json('db', { insert: 'c', documents: [{ _id: 1, a: 0 }] });
    expect(reply['writeErrors']).toEqual([
      expect.objectContaining({ code: 121, errmsg: 'Document failed validation' }),
    ]);
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1, a: 0 }], bypassDocumentValidation: true });
    expect(await fixture.found('db', { find: 'c' })).toHaveLength(1);
  });
});

describe('migrated documents', () => {
  it('move without events, and stay readable at the time before', async () => {
    using from = new ShardFixture();
    using to = new ShardFixture({ clock: from.clock });
    await from.run('db', {
      insert: 'c',
      documents: [
        { _id: 1, k: 1 },
        { _id: 2, k: -1 },
      ],
    });
    const facts = from.shard.access.collection('db.c');
    if (facts === undefined) throw new Error('no collection');
    const then = from.now();
    const start = to.now();
    to.shard.access.ensureCollection('db.c', facts.uuid, facts.options, facts.indexes);
    const moved = from.shard.access.documents('db.c', (document) => document.at(-2) !== 0xff);
    to.shard.access.receiveMigrated('db.c', moved);
    expect(from.shard.access.removeMigrated('db.c', (document) => moved.includes(document))).toBe(1);
    expect(await to.found('db', { find: 'c' })).toEqual([{ _id: 1, k: 1 }]);
    expect(await from.found('db', { find: 'c' })).toEqual([{ _id: 2, k: -1 }]);
    expect(await from.found('db', { find: 'c', readConcern: { level: 'snapshot', atClusterTime: then } })).toHaveLength(
      2,
    );
    const stream = to.shard.access.openStream({
      scope: { kind: 'cluster' },
      start: { kind: 'time', clusterTime: start },
      stage: streamStage(),
      merged: true,
      pipeline: [],
    });
    expect(stream.take(10, 1 << 20)).toEqual([]);
  });
});
