import { Binary, BSON, type Document, Double, Int32, Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { Condition } from '../../../src/store/condition.js';
import { serverError } from '../model/calls.js';
import { bytesOf, collectionOf, never, rawOf, settled, updateOf, withUndefined } from '../model/parts.js';
import { readEnd, RereadFixture } from './reread-fixture.js';

let fixture: RereadFixture;

beforeEach(() => {
  fixture = new RereadFixture();
});

describe('a doubtful key', () => {
  it('is read at a time that includes every event that was dropped for it, once all of that was routed', async () => {
    fixture.routed = () => undefined;
    await fixture.reread(1);
    expect(fixture.reads).toEqual([]);
    fixture.routed();
    await settled();
    expect((fixture.reads[0]?.readConcern as Document).atClusterTime).toEqual(timestampOf(25n));
  });

  it('is written whole under its full key', async () => {
    fixture.source = [bytesOf({ _id: 1, sk: 3, a: 1 })];
    await fixture.reread(1);
    expect(fixture.writes).toMatchObject([
      {
        kind: 'update',
        statements: [
          {
            q: { sk: new Int32(3), _id: new Int32(1) },
            u: [{ $replaceWith: { $literal: { a: new Int32(1) } } }],
            upsert: true,
          },
        ],
      },
    ]);
    expect(fixture.rereads.size).toBe(0);
  });

  it('whose document fits into no statement beside its key is inserted, once what was there is removed', async () => {
    const id = 'i'.repeat(20_000);
    [fixture.source, fixture.destination] = [
      [bytesOf({ _id: id, sk: 3, text: new Binary(new Uint8Array(16 * 2 ** 20 - 20_100)) })],
      [bytesOf({ _id: id, sk: 3 })],
    ];
    await fixture.reread(id);
    expect([fixture.rereads.size, ...fixture.writes.map(({ kind, statements }) => [kind, statements.length])]).toEqual([
      0,
      ['delete', 1],
      ['insert', 1],
    ]);
  });

  it('whose shard key no upsert can name is inserted, once what was there is removed, and its zero timestamp put back', async () => {
    [fixture.source, fixture.destination] = [
      [withUndefined({ _id: 1, sk: null, at: new Timestamp(0n) })],
      [bytesOf({ _id: 1, sk: 3 })],
    ];
    await fixture.reread(1);
    expect(fixture.writes).toMatchObject([
      { kind: 'delete' },
      { kind: 'insert' },
      { kind: 'update', statements: [{ q: { sk: { $type: new Int32(6) } }, upsert: false }] },
    ]);
  });

  it('whose document is gone is deleted under the key that it has on the destination', async () => {
    fixture.destination = [bytesOf({ _id: 1, sk: 7 })];
    await fixture.reread(1);
    expect(fixture.writes.map(({ kind }) => kind)).toEqual(['delete']);
    expect(fixture.filtersOf('delete')).toEqual([{ sk: new Int32(7), _id: new Int32(1) }]);
  });

  it('whose document has another shard key now is deleted first', async () => {
    [fixture.source, fixture.destination] = [[bytesOf({ _id: 1, sk: 3 })], [bytesOf({ _id: 1, sk: 7 })]];
    await fixture.reread(1);
    expect(fixture.writes.map(({ kind }) => kind)).toEqual(['delete', 'update']);
  });

  it('whose _id has another type now is deleted first: no update changes an _id', async () => {
    [fixture.source, fixture.destination] = [
      [bytesOf({ _id: new Double(1), sk: 3 })],
      [bytesOf({ _id: new Int32(1), sk: 3 })],
    ];
    await fixture.reread(1);
    expect([fixture.filtersOf('delete')[0]?._id, fixture.filtersOf('update')[0]?._id]).toEqual([
      new Int32(1),
      new Double(1),
    ]);
  });

  it("that is another share's on either side is left to it", async () => {
    fixture.collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 3 });
    fixture.source = [bytesOf({ _id: 1, sk: 4 })];
    fixture.destination = [bytesOf({ _id: 1, sk: 7 })];
    await fixture.reread(1);
    expect(fixture.writes).toEqual([]);
    expect(fixture.rereads.size).toBe(0);
  });

  it('is covered by begun up to the end of its reading, before anything is written', async () => {
    fixture.source = [bytesOf({ _id: 1, sk: 3 })];
    await fixture.reread(1);
    expect(fixture.watermarks).toEqual([25n, readEnd]);
  });

  it('lets held events go on in the moment in which it leaves the set', async () => {
    fixture.duringRead = () => void fixture.rereads.absorb(updateOf(1, 30n, { a: 1 }), fixture.collection);
    await fixture.reread(1);
    expect(fixture.released).toEqual([{ buffered: 2, size: 0 }]);
    expect(fixture.rereads.readEndOf(fixture.collection, rawOf(1))).toBe(readEnd);
  });

  it('whose time became unreadable is read again later, with what was held in it', async () => {
    fixture.failRead = serverError(246);
    fixture.duringRead = () => void fixture.rereads.absorb(updateOf(1, 30n, { a: 1 }), fixture.collection);
    await fixture.reread(1);
    expect([...fixture.rereads.entries()]).toMatchObject([{ readTime: null, buffered: [], dropped: 30n, attempts: 1 }]);
  });
});

describe('a doubtful key of a collection that is let go of', () => {
  it('is read again later: what its reading waits for may wait for the change itself', async () => {
    fixture.collection = collectionOf({ readBy: 'name' });
    fixture.source = [bytesOf({ _id: 1, sk: 3 })];
    fixture.untilNamed = (_collection, signal) => new Condition().until(() => false, signal);
    const { rereader } = await fixture.reread(1);
    const quiet = rereader.quiet(fixture.collection.uuid, never);
    rereader.suspend(fixture.collection.uuid);
    await quiet;
    expect(fixture.writes).toEqual([]);
    expect([...fixture.rereads.entries()]).toMatchObject([{ readTime: null, attempts: 1 }]);
  });

  it('of another one is repaired all the same', async () => {
    let named = (): void => undefined;
    fixture.collection = collectionOf({ readBy: 'name' });
    fixture.source = [bytesOf({ _id: 1, sk: 3 })];
    fixture.untilNamed = () => new Promise((resolve) => (named = resolve));
    const { rereader } = await fixture.reread(1);
    rereader.suspend('0b'.repeat(16));
    named();
    await settled();
    expect([fixture.writes.length, fixture.rereads.size]).toEqual([1, 0]);
  });
});

describe('a doubtful key of a capped collection, which is not read at one time', () => {
  it('is read by its UUID on a shard, whatever the collection is called by then', async () => {
    fixture.collection = collectionOf({ capped: true, sourceKey: [], destinationKey: [] });
    [fixture.source, fixture.destination] = [[bytesOf({ _id: 1, a: 2 })], [bytesOf({ _id: 1, a: 1 })]];
    await fixture.reread(1);
    expect(fixture.reads[0]).toMatchObject({
      find: new Binary(Buffer.from(fixture.collection.uuid, 'hex'), Binary.SUBTYPE_UUID),
      readConcern: { level: 'majority' },
    });
    expect([fixture.writes.length, fixture.rereads.size]).toEqual([1, 0]);
  });

  it('stays when the collection is gone', async () => {
    fixture.collection = collectionOf({ capped: true, sourceKey: [], destinationKey: [] });
    fixture.failRead = serverError(26);
    await fixture.reread(1);
    expect([...fixture.rereads.entries()]).toMatchObject([{ readTime: null, attempts: 1 }]);
  });

  it("stays when the name it was read under may have been another collection's by then", async () => {
    fixture.collection = collectionOf({ capped: true, sourceKey: [], destinationKey: [], readBy: 'name' });
    [fixture.source, fixture.destination] = [[bytesOf({ _id: 1, a: 2 })], [bytesOf({ _id: 1, a: 1 })]];
    fixture.duringRead = () => void (fixture.mayRead = false);
    await fixture.reread(1);
    expect([fixture.writes, [...fixture.rereads.entries()]]).toMatchObject([[], [{ readTime: null, attempts: 1 }]]);
    [fixture.mayRead, fixture.duringRead] = [true, () => undefined];
    for (let moment = 0; moment < 400; moment += 1) await fixture.scheduler.step();
    expect([fixture.writes.length, fixture.rereads.size]).toEqual([1, 0]);
  });
});

describe('keys with large documents', () => {
  /** Of the largest size that servers take. */
  const largest = (_id: number): Uint8Array =>
    bytesOf({ _id, sk: 3, text: new Binary(new Uint8Array(16 * 2 ** 20 - 33)) });

  it('are written in bulks that the server takes', async () => {
    const size = 5 * 2 ** 20;
    fixture.source = [1, 2, 3].map((_id) => bytesOf({ _id, sk: 3, text: new Binary(new Uint8Array(size)) }));
    fixture.destination = [1, 2, 3].map((_id) => bytesOf({ _id, sk: 7 }));
    await fixture.reread(1, 2, 3);
    expect(fixture.rereads.size).toBe(0);
    expect(fixture.filtersOf('update').map(({ _id }) => String(_id))).toEqual(['1', '2', '3']);
  });

  it('are read fewer at a time when all of them together are too much, and the largest alone', async () => {
    const documents = new Map([1, 2, 3].map((_id) => [_id, largest(_id)]));
    fixture.duringRead = () => {
      const { filter } = fixture.reads.at(-1) as { filter: { _id: { $in: Int32[] } } };
      fixture.source = filter._id.$in.flatMap((id) => documents.get(Number(id)) ?? []);
    };
    await fixture.reread(1, 2, 3);
    for (let moment = 0; moment < 400; moment += 1) await fixture.scheduler.step();
    expect(fixture.rereads.size).toBe(0);
    expect(
      fixture
        .filtersOf('update')
        .map(({ _id }) => String(_id))
        .sort(),
    ).toEqual(['1', '2', '3']);
    expect(fixture.writes.map(({ statements }) => statements.length)).toEqual([1, 1, 1]);
  });
});

it('keys with large _ids are read fewer at a time: their filter has to fit into a command', async () => {
  const ids = ['a', 'b', 'c'].map((letter) => letter.repeat(4 * 2 ** 20));
  await fixture.reread(...ids);
  for (let moment = 0; moment < 400; moment += 1) await fixture.scheduler.step();
  expect(fixture.rereads.size).toBe(0);
  const asked = fixture.reads.map(({ filter }) => (filter as { _id: { $in: string[] } })._id.$in.length);
  expect(asked.every((count) => count <= 1)).toBe(true);
});

describe('a range of keys that is given up', () => {
  it('loses its own documents, whatever the source has, and its keys', async () => {
    fixture.collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 1 });
    [fixture.source, fixture.destination] = [
      [bytesOf({ _id: 1, sk: 1 })],
      [bytesOf({ _id: 1, sk: 1 }), bytesOf({ _id: 2, sk: 2 })],
    ];
    const left: bigint[] = [];
    fixture.givenUp = () =>
      fixture.rereads.size === 0
        ? null
        : {
            collection: fixture.collection,
            entries: [...fixture.rereads.entries()],
            left: (dropped) => void left.push(dropped),
          };
    await fixture.reread(1, 2);
    expect(fixture.writes).toMatchObject([
      { kind: 'delete', statements: [{ q: { _id: new Int32(1), sk: new Int32(1) } }] },
    ]);
    expect([fixture.rereads.size, left]).toEqual([0, [25n]]);
  });

  it('keeps its keys as long as the destination cannot be read', async () => {
    fixture.failRead = serverError(175);
    fixture.givenUp = () => ({
      collection: fixture.collection,
      entries: [...fixture.rereads.entries()],
      left: () => undefined,
    });
    await fixture.reread(1);
    expect([fixture.rereads.size, fixture.writes]).toEqual([1, []]);
  });
});
