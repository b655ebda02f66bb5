import { Binary, BSON, type Document, Double, Int32, Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { Condition } from '../../../src/async/waiting.js';
import { serverError } from '../model/calls.js';
import { bytesOf, collectionOf, never, rawOf, settled, updateOf, withUndefined } from '../model/parts.js';
import { readEnd, RereadFixture } from './reread-fixture.js';

let fixture: RereadFixture;

beforeEach(() => {
  fixture = new RereadFixture();
});

describe('a document to re-read', () => {
  it('is read at a time that includes every dropped event, once the stream is routed up to it', async () => {
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

  it('is inserted, after a delete, when it fits into no statement beside its key', async () => {
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

  it('is inserted, after a delete, when no upsert can name its shard key, and gets its zero timestamp', async () => {
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

  it('is deleted under its key on the destination when the source no longer has it', async () => {
    fixture.destination = [bytesOf({ _id: 1, sk: 7 })];
    await fixture.reread(1);
    expect(fixture.writes.map(({ kind }) => kind)).toEqual(['delete']);
    expect(fixture.filtersOf('delete')).toEqual([{ sk: new Int32(7), _id: new Int32(1) }]);
  });

  it('is deleted first when its shard key has changed', async () => {
    [fixture.source, fixture.destination] = [[bytesOf({ _id: 1, sk: 3 })], [bytesOf({ _id: 1, sk: 7 })]];
    await fixture.reread(1);
    expect(fixture.writes.map(({ kind }) => kind)).toEqual(['delete', 'update']);
  });

  it('is deleted first when its _id has another type: no update changes an _id', async () => {
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

  it('is left alone on the side where another task owns it', async () => {
    fixture.collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 3 });
    fixture.source = [bytesOf({ _id: 1, sk: 4 })];
    fixture.destination = [bytesOf({ _id: 1, sk: 7 })];
    await fixture.reread(1);
    expect(fixture.writes).toEqual([]);
    expect(fixture.rereads.size).toBe(0);
  });

  it('is covered by the apply watermark up to the end of the read, before any write', async () => {
    fixture.source = [bytesOf({ _id: 1, sk: 3 })];
    await fixture.reread(1);
    expect(fixture.watermarks).toEqual([25n, readEnd]);
  });

  it('releases its buffered events in the same tick in which it leaves the set', async () => {
    fixture.duringRead = () => void fixture.rereads.absorb(updateOf(1, 30n, { a: 1 }), fixture.collection);
    await fixture.reread(1);
    expect(fixture.released).toEqual([{ buffered: 2, size: 0 }]);
    expect(fixture.rereads.readEndOf(fixture.collection, rawOf(1))).toBe(readEnd);
  });

  it('is read again later when its time becomes unreadable; that read includes the buffered events', async () => {
    fixture.failRead = serverError(246);
    fixture.duringRead = () => void fixture.rereads.absorb(updateOf(1, 30n, { a: 1 }), fixture.collection);
    await fixture.reread(1);
    expect([...fixture.rereads.entries()]).toMatchObject([{ readTime: null, buffered: [], dropped: 30n, attempts: 1 }]);
  });
});

describe('a document of a suspended collection', () => {
  it('is read again later: its read may wait for the DDL change itself', async () => {
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

  it('does not stop re-reads of other collections', async () => {
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

describe('a document of a capped collection, which is not read at one time', () => {
  it('is read by collection UUID on a shard, also after a rename', async () => {
    fixture.collection = collectionOf({ capped: true, sourceKey: [], destinationKey: [] });
    [fixture.source, fixture.destination] = [[bytesOf({ _id: 1, a: 2 })], [bytesOf({ _id: 1, a: 1 })]];
    await fixture.reread(1);
    expect(fixture.reads[0]).toMatchObject({
      find: new Binary(Buffer.from(fixture.collection.uuid, 'hex'), Binary.SUBTYPE_UUID),
      readConcern: { level: 'majority' },
    });
    expect([fixture.writes.length, fixture.rereads.size]).toEqual([1, 0]);
  });

  it('stays in the set when the collection is gone', async () => {
    fixture.collection = collectionOf({ capped: true, sourceKey: [], destinationKey: [] });
    fixture.failRead = serverError(26);
    await fixture.reread(1);
    expect([...fixture.rereads.entries()]).toMatchObject([{ readTime: null, attempts: 1 }]);
  });

  it('stays in the set when its read by name may have reached another collection', async () => {
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

describe('large documents', () => {
  /** A document of the maximal size. */
  const largest = (_id: number): Uint8Array =>
    bytesOf({ _id, sk: 3, text: new Binary(new Uint8Array(16 * 2 ** 20 - 33)) });

  it('are written in bulks that the server accepts', async () => {
    const size = 5 * 2 ** 20;
    fixture.source = [1, 2, 3].map((_id) => bytesOf({ _id, sk: 3, text: new Binary(new Uint8Array(size)) }));
    fixture.destination = [1, 2, 3].map((_id) => bytesOf({ _id, sk: 7 }));
    await fixture.reread(1, 2, 3);
    expect(fixture.rereads.size).toBe(0);
    expect(fixture.filtersOf('update').map(({ _id }) => String(_id))).toEqual(['1', '2', '3']);
  });

  it('are read in smaller batches when they are too large together, and the largest alone', async () => {
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

it('documents with large _ids are read in smaller batches: the filter has to fit into a command', async () => {
  const ids = ['a', 'b', 'c'].map((letter) => letter.repeat(4 * 2 ** 20));
  await fixture.reread(...ids);
  for (let moment = 0; moment < 400; moment += 1) await fixture.scheduler.step();
  expect(fixture.rereads.size).toBe(0);
  const asked = fixture.reads.map(({ filter }) => (filter as { _id: { $in: string[] } })._id.$in.length);
  expect(asked.every((count) => count <= 1)).toBe(true);
});

describe('a range that is given up', () => {
  it('loses its own documents, whatever the source has, and its entries', async () => {
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

  it('keeps its entries while the destination cannot be read', async () => {
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
