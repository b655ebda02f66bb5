import { describe, expect, it } from 'vitest';
import { failureOf, long, lsid, ShardFixture } from '../shard-fixture.js';

interface Cursor {
  id: { $numberLong: string };
  firstBatch: unknown[];
  nextBatch: unknown[];
}

async function filled(fixture: ShardFixture, count: number, options: Record<string, unknown> = {}): Promise<void> {
  await fixture.run('db', { create: 'c', ...options });
  await fixture.run('db', { insert: 'c', documents: Array.from({ length: count }, (_, _id) => ({ _id })) });
}

async function opened(fixture: ShardFixture, command: Record<string, unknown> = {}): Promise<Cursor> {
  const { cursor } = (await fixture.json('db', { find: 'c', ...command })) as { cursor: Cursor };
  return cursor;
}

function more(
  fixture: ShardFixture,
  cursor: Cursor,
  fields: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  return fixture.json('db', { getMore: long(BigInt(cursor.id.$numberLong)), collection: 'c', ...fields });
}

describe('cursors', () => {
  it('give 101 documents at first and the rest at once', async () => {
    using fixture = new ShardFixture();
    await filled(fixture, 250);
    const cursor = await opened(fixture);
    expect(cursor.firstBatch).toHaveLength(101);
    const next = (await more(fixture, cursor)) as { cursor: Cursor };
    expect(next.cursor.nextBatch).toHaveLength(149);
    expect(next.cursor.id).toEqual({ $numberLong: '0' });
    expect(await failureOf(more(fixture, cursor))).toMatchObject({ code: 43 });
  });

  it('open without reading for a batch of 0', async () => {
    using fixture = new ShardFixture();
    await filled(fixture, 3);
    const cursor = await opened(fixture, { batchSize: 0 });
    expect(cursor.firstBatch).toEqual([]);
    expect(((await more(fixture, cursor, { batchSize: 2 })) as { cursor: Cursor }).cursor.nextBatch).toHaveLength(2);
  });

  it('end after 10 idle minutes, which the client cannot forbid', async () => {
    using fixture = new ShardFixture({ noopIntervalMs: 1 });
    await filled(fixture, 10);
    const idle = await opened(fixture, { batchSize: 1 });
    expect(await failureOf(opened(fixture, { batchSize: 1, noCursorTimeout: true }))).toMatchObject({ code: 115 });
    fixture.nowMs += 600_001;
    await expect
      .poll(() =>
        failureOf(more(fixture, idle, { batchSize: 1 })).then(
          ({ code }) => code,
          () => 0,
        ),
      )
      .toBe(43);
  });

  it('belong to the session that opened them, and end with it', async () => {
    using fixture = new ShardFixture();
    await filled(fixture, 10);
    const session = { lsid: lsid('a') };
    const cursor = await opened(fixture, { batchSize: 1, ...session });
    expect(await failureOf(more(fixture, cursor))).toMatchObject({ code: 50736 });
    expect(await failureOf(more(fixture, cursor, { lsid: lsid('b') }))).toMatchObject({ code: 50738 });
    await fixture.run('admin', { killSessions: [lsid('a')] });
    expect(await failureOf(more(fixture, cursor, session))).toMatchObject({ code: 43 });
  });

  it('end with their collection', async () => {
    using fixture = new ShardFixture();
    await filled(fixture, 10);
    const cursor = await opened(fixture, { batchSize: 1 });
    await fixture.run('db', { drop: 'c' });
    expect(await failureOf(more(fixture, cursor))).toMatchObject({ code: 175 });
  });

  it('take a time limit for getMore only when they wait for data', async () => {
    using fixture = new ShardFixture();
    await filled(fixture, 10);
    const cursor = await opened(fixture, { batchSize: 1 });
    expect(await failureOf(more(fixture, cursor, { maxTimeMS: 5 }))).toMatchObject({ code: 2 });
  });

  it('do not tail: that is refused by name', async () => {
    using fixture = new ShardFixture();
    await filled(fixture, 2, { capped: true, size: 100_000 });
    expect(await failureOf(fixture.run('db', { find: 'c', tailable: true }))).toMatchObject({ code: 115 });
    expect(await failureOf(fixture.run('db', { find: 'c', awaitData: true }))).toMatchObject({ code: 9 });
  });
});
