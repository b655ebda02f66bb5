import { describe, expect, it } from 'vitest';
import { Int32, Long, Timestamp } from 'bson';
import { encodeDocument } from '../../../../src/bson/encode.js';
import type { Doc, Value } from '../../../../src/bson/value.js';
import { failureOf, long, lsid, ShardFixture } from '../shard-fixture.js';
import { VersionedShard } from '../versioned-shard.js';

describe('insert', () => {
  it('puts _id first, fills empty timestamps at the top level only, and names keys of duplicates', async () => {
    using fixture = new ShardFixture();
    const empty = { $timestamp: { t: 0, i: 0 } };
    await fixture.run('db', {
      insert: 'c',
      documents: [{ t: new Timestamp({ t: 0, i: 0 }), sub: { t: new Timestamp({ t: 0, i: 0 }) }, _id: 1 }],
    });
    const [stored] = (await fixture.found('db', { find: 'c' })) as Record<string, unknown>[];
    expect(Object.keys(stored ?? {})).toEqual(['_id', 't', 'sub']);
    expect(stored?.['t']).not.toEqual(empty);
    expect(stored?.['sub']).toEqual({ t: empty });
    const reply = await fixture.json('db', {
      insert: 'c',
      ordered: false,
      documents: [{ _id: 1 }, { _id: 2 }, { _id: { $bad: 1 } }, { _id: [1] }],
    });
    expect(reply['n']).toBe(1);
    expect(reply['writeErrors']).toEqual([
      {
        index: 0,
        code: 11000,
        codeName: 'DuplicateKey',
        errmsg: 'E11000 duplicate key error collection: db.c index: _id_ dup key: { _id: 1 }',
        keyPattern: { _id: 1 },
        keyValue: { _id: 1 },
      },
      expect.objectContaining({ index: 2, code: 52 }),
      expect.objectContaining({ index: 3, code: 53, errmsg: "The '_id' value cannot be of type array" }),
    ]);
  });

  it('stops at the first error when ordered', async () => {
    using fixture = new ShardFixture();
    const reply = await fixture.json('db', { insert: 'c', documents: [{ _id: 1 }, { _id: 1 }, { _id: 2 }] });
    expect(reply['n']).toBe(1);
    expect(reply['writeErrors']).toHaveLength(1);
  });

  it('enforces unique indexes, arrays element by element', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { createIndexes: 'c', indexes: [{ key: { a: 1, b: 1 }, name: 'ab', unique: true }] });
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1, a: [1, 2], b: 1 }] });
    const reply = await fixture.json('db', {
      insert: 'c',
      ordered: false,
      documents: [
        { _id: 2, a: 2, b: 1 },
        { _id: 3, a: 2, b: 2 },
      ],
    });
    expect(reply['writeErrors']).toEqual([
      expect.objectContaining({
        index: 0,
        errmsg: 'E11000 duplicate key error collection: db.c index: ab dup key: { a: 2, b: 1 }',
        keyPattern: { a: 1, b: 1 },
        keyValue: { a: 2, b: 1 },
      }),
    ]);
  });
});

describe('update', () => {
  const literal = (document: Record<string, unknown>): unknown[] => [{ $replaceWith: { $literal: document } }];

  it('replaces and upserts through a literal pipeline, names with dollars and dots included', async () => {
    using fixture = new ShardFixture();
    const updates = [
      { q: { _id: 1 }, u: literal({ _id: 1, 'a.b': 1, $c: 2 }), upsert: true },
      { q: { _id: 1 }, u: literal({ _id: 1, $d: 3 }), upsert: true },
      { q: { _id: 1 }, u: literal({ _id: 1, $d: 3 }), upsert: true },
    ];
    const reply = await fixture.json('db', { update: 'c', updates });
    expect(reply).toMatchObject({ n: 3, nModified: 1, upserted: [{ index: 0, _id: 1 }] });
    expect(await fixture.found('db', { find: 'c' })).toEqual([{ _id: 1, $d: 3 }]);
  });

  it('takes statements from a document sequence', async () => {
    using fixture = new ShardFixture();
    const statement: Doc = new Map<string, Value>([
      ['q', new Map([['_id', new Int32(1)]])],
      ['u', new Map([['$set', new Map([['a', new Int32(1)]])]])],
      ['upsert', true],
    ]);
    await fixture.run('db', { update: 'c' }, { sequences: new Map([['updates', [encodeDocument(statement)]]]) });
    expect(await fixture.found('db', { find: 'c' })).toEqual([{ _id: 1, a: 1 }]);
  });

  it('updates each match of a multi update once, even along the index that it changes', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a_1' }] });
    await fixture.run('db', {
      insert: 'c',
      documents: [
        { _id: 1, a: 1 },
        { _id: 2, a: 2 },
      ],
    });
    const reply = await fixture.json('db', {
      update: 'c',
      updates: [{ q: { a: { $gt: 0 } }, u: { $inc: { a: 10 } }, multi: true }],
    });
    expect(reply).toMatchObject({ n: 2, nModified: 2 });
    expect(await fixture.found('db', { find: 'c', filter: { a: 11 } })).toEqual([{ _id: 1, a: 11 }]);
    expect(await fixture.found('db', { find: 'c', filter: { a: 1 } })).toEqual([]);
  });
});

describe('retryable writes', () => {
  const numbered = (txnNumber: number, command: Record<string, unknown>): Record<string, unknown> => ({
    ...command,
    txnNumber: long(txnNumber),
    lsid: lsid('L'),
  });

  it('are executed once, and answered again', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1, v: 1 }] });
    const command = numbered(5, {
      update: 'c',
      updates: [
        { q: { _id: 1 }, u: { $inc: { v: 1 } } },
        { q: { _id: 2 }, u: { $set: { v: 7 } }, upsert: true },
      ],
    });
    const first = await fixture.json('db', command);
    const again = await fixture.json('db', command);
    expect(again).toEqual({ ...first, retriedStmtIds: [0, 1] });
    expect(await fixture.found('db', { find: 'c' })).toEqual([
      { _id: 1, v: 2 },
      { _id: 2, v: 7 },
    ]);
  });

  it('answer other statements of the same number by statement id', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', numbered(5, { insert: 'c', documents: [{ _id: 1 }, { _id: 2 }], stmtIds: [3, 4] }));
    const reply = await fixture.json(
      'db',
      numbered(5, { insert: 'c', documents: [{ _id: 8 }, { _id: 9 }], stmtIds: [4, 5] }),
    );
    expect(reply['n']).toBe(2);
    expect(await fixture.found('db', { find: 'c' })).toEqual([{ _id: 1 }, { _id: 2 }, { _id: 9 }]);
  });

  it('name no repeated statements before 8.0', async () => {
    using fixture = new VersionedShard('5.0');
    const command = numbered(5, { insert: 'c', documents: [{ _id: 1 }] });
    const first = await fixture.json('db', command);
    expect(await fixture.json('db', command)).toEqual(first);
  });

  it.each([
    ['8.0', ' -  - '],
    ['5.0', ''],
  ] as const)('are fenced off by a higher number, which killSessions leaves in place: %s', async (release, parts) => {
    using fixture = new VersionedShard(release);
    await fixture.run('db', numbered(8_589_934_592, { insert: 'c', documents: [{ _id: 1 }] }));
    await fixture.run('admin', { killSessions: [lsid('L')] });
    const { code, message } = await failureOf(
      fixture.run('db', numbered(4_294_967_301, { insert: 'c', documents: [{ _id: 2 }] })),
    );
    expect(code).toBe(225);
    expect(message).toBe(
      'Retryable write with txnNumber 4294967301 is prohibited on session 4c4c4c4c-4c4c-4c4c-4c4c-4c4c4c4c4c4c ' +
        `- 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=${parts} because a newer retryable write with txnNumber ` +
        '8589934592 has already started on this session.',
    );
    await fixture.run('db', { insert: 'c', documents: [{ _id: 3 }], txnNumber: long(1), lsid: lsid('M') });
    expect(await fixture.found('db', { find: 'c' })).toEqual([{ _id: 1 }, { _id: 3 }]);
  });

  it('may not be multi statements, nor numbered by an int', async () => {
    using fixture = new ShardFixture();
    const reply = await fixture.json('db', numbered(1, { delete: 'c', deletes: [{ q: {}, limit: 0 }] }));
    expect(reply['writeErrors']).toEqual([
      expect.objectContaining({ code: 72, errmsg: 'Cannot use (or request) retryable writes with limit=0' }),
    ]);
    const { code } = await failureOf(
      fixture.run('db', { insert: 'c', documents: [{}], txnNumber: 5, lsid: lsid('L') }),
    );
    expect(code).toBe(14);
  });
});

describe('transactions', () => {
  const inside = (command: Record<string, unknown>, start = false): Record<string, unknown> => ({
    ...command,
    lsid: lsid('T'),
    txnNumber: Long.fromNumber(1),
    autocommit: false,
    ...(start ? { startTransaction: true } : {}),
  });

  it('are seen by others only when committed, all at one time', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1, v: 1 }, { _id: 2 }] });
    await fixture.run('db', inside({ update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { v: 2 } } }] }, true));
    await fixture.run('db', inside({ delete: 'c', deletes: [{ q: { _id: 2 }, limit: 1 }] }));
    await fixture.run('db', inside({ insert: 'c', documents: [{ _id: 3 }] }));
    expect(await fixture.found('db', { find: 'c' })).toEqual([{ _id: 1, v: 1 }, { _id: 2 }]);
    expect(await fixture.found('db', inside({ find: 'c', sort: { _id: 1 } }))).toEqual([{ _id: 1, v: 2 }, { _id: 3 }]);
    await fixture.run('admin', inside({ commitTransaction: 1 }));
    expect(await fixture.found('db', { find: 'c' })).toEqual([{ _id: 1, v: 2 }, { _id: 3 }]);
    expect(await fixture.json('db', { count: 'c' })).toEqual({ n: 2 });
  });

  it('leave nothing when aborted, and let a waiting write continue', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1, v: 1 }] });
    await fixture.run('db', inside({ update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { v: 2 } } }] }, true));
    const waiting = fixture.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { $inc: { v: 10 } } }] });
    await fixture.run('admin', inside({ abortTransaction: 1 }));
    await waiting;
    expect(await fixture.found('db', { find: 'c' })).toEqual([{ _id: 1, v: 11 }]);
    expect((await failureOf(fixture.run('db', inside({ find: 'c' })))).code).toBe(251);
  });

  it('conflict with a change behind their snapshot', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    await fixture.run('db', inside({ find: 'c' }, true));
    await fixture.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { v: 1 } } }] });
    expect(
      (await failureOf(fixture.run('db', inside({ update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { v: 2 } } }] }))))
        .code,
    ).toBe(112);
  });
});
