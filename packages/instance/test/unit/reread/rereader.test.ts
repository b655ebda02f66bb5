import { Binary, BSON, type Document, Double, Int32, Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import type { NodeClient, RawBatch, RawWrite, WriteOutcome } from '../../../src/cluster/node-client.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { Rereader } from '../../../src/reread/rereader.js';
import type { GivenUpRange, RereadDependencies } from '../../../src/reread/reread-dependencies.js';
import { ApplyWatermark } from '../../../src/store/apply-watermark.js';
import { ByteBudget } from '../../../src/store/byte-budget.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import { Condition } from '../../../src/store/condition.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { batchOf, serverError } from '../model/calls.js';
import { bytesOf, collectionOf, never, once, rawOf, settled, times, updateOf, withUndefined } from '../model/parts.js';
import { randomOf, Scheduler } from '../model/scheduler.js';

const readEnd = 40n;
let collection: SyncedCollection;
let source: Uint8Array[];
let destination: Uint8Array[];
let reads: Document[];
let writes: { kind: string; statements: Document[] }[];
let answers: Partial<WriteOutcome>[];
let watermarks: bigint[];
let released: { buffered: number; size: number }[];
let rereads: RereadSet;
let routed: (() => void) | null;
let everywhere: Uint8Array[];
let givenUp: () => GivenUpRange | null;
let failRead: Error | null;
let duringRead: () => void;
let scheduler: Scheduler;
let mayRead: boolean;
let untilNamed: RereadDependencies['untilNamed'];
let stop: AbortController;
let retrying: RereadDependencies['retrying'];

beforeEach(() => {
  collection = collectionOf();
  [source, destination, reads, writes, answers, watermarks, released, everywhere] = [[], [], [], [], [], [], [], []];
  [routed, failRead, duringRead, givenUp, mayRead] = [null, null, () => undefined, () => null, true];
  rereads = new RereadSet({ upsert: () => Promise.resolve(), remove: () => Promise.resolve() }, new ByteBudget(1000));
  scheduler = new Scheduler(randomOf(1));
  untilNamed = () => Promise.resolve();
  [stop, retrying] = [new AbortController(), once];
});

function clientOf(documents: () => Uint8Array[], about: Partial<RawBatch>): NodeClient {
  const openCursor = (_database: string, command: Document) => {
    reads.push(command);
    duringRead();
    if (failRead !== null) return Promise.reject(failRead);
    return Promise.resolve({
      first: batchOf([...documents()], about),
      open: false,
      next: () => Promise.reject(new Error('no more')),
      close: () => Promise.resolve(),
    });
  };
  return { label: 'door', openCursor } as unknown as NodeClient;
}

function write({ kind, statements }: RawWrite): Promise<WriteOutcome> {
  writes.push({
    kind,
    statements: statements.map((statement) => BSON.deserialize(statement, { promoteValues: false })),
  });
  return Promise.resolve({ n: statements.length, nModified: 0, upserted: 0, failures: [], ...answers.shift() });
}

/** Begins to repair the keys and lets everything happen that waits for nothing. */
async function reread(...ids: unknown[]): Promise<{ rereader: Rereader; run: Promise<unknown> }> {
  await rereads.add(ids.map((id) => ({ collection, id: rawOf(id), reason: 'duplicateKey' as const, time: 25n })));
  const deps: RereadDependencies = {
    shard: clientOf(() => source, { atClusterTime: timestampOf(25n), operationTime: timestampOf(readEnd) }),
    destination: clientOf(() => destination, {}),
    source: clientOf(() => everywhere, {}),
    writer: { write } as never,
    rereads,
    applyWatermark: new ApplyWatermark(
      0n,
      (time) => Promise.resolve(void watermarks.push(time)),
      () => 0n,
    ),
    retrying,
    clock: scheduler,
    position: () => 20n,
    untilNamed: (...named) => untilNamed(...named),
    untilRouted: () => (routed === null ? Promise.resolve() : new Promise((resolve) => (routed = resolve))),
    givenUp: () => Promise.resolve(givenUp()),
    mayRead: () => mayRead,
    release: (entry) => void released.push({ buffered: entry.buffered.length, size: rereads.size }),
  };
  const rereader = new Rereader(deps);
  const run = rereader.run(stop.signal, never).catch((error: unknown) => error);
  await settled();
  return { rereader, run };
}

function filtersOf(kind: string): Document[] {
  return writes
    .filter((one) => one.kind === kind)
    .flatMap(({ statements }) => statements.map(({ q }) => q as Document));
}

describe('a doubtful key', () => {
  it('is read at a time that includes every event that was dropped for it, once all of that was routed', async () => {
    routed = () => undefined;
    await reread(1);
    expect(reads).toEqual([]);
    routed();
    await settled();
    expect((reads[0]?.readConcern as Document).atClusterTime).toEqual(timestampOf(25n));
  });

  it('is written whole under its full key', async () => {
    source = [bytesOf({ _id: 1, sk: 3, a: 1 })];
    await reread(1);
    expect(writes).toMatchObject([
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
    expect(rereads.size).toBe(0);
  });

  it('whose document fits into no statement beside its key is inserted, once what was there is removed', async () => {
    const id = 'i'.repeat(20_000);
    [source, destination] = [
      [bytesOf({ _id: id, sk: 3, text: new Binary(new Uint8Array(16 * 2 ** 20 - 20_100)) })],
      [bytesOf({ _id: id, sk: 3 })],
    ];
    await reread(id);
    expect([rereads.size, ...writes.map(({ kind, statements }) => [kind, statements.length])]).toEqual([
      0,
      ['delete', 1],
      ['insert', 1],
    ]);
  });

  it('whose shard key no upsert can name is inserted, once what was there is removed, and its zero timestamp put back', async () => {
    [source, destination] = [
      [withUndefined({ _id: 1, sk: null, at: new Timestamp(0n) })],
      [bytesOf({ _id: 1, sk: 3 })],
    ];
    await reread(1);
    expect(writes).toMatchObject([
      { kind: 'delete' },
      { kind: 'insert' },
      { kind: 'update', statements: [{ q: { sk: { $type: new Int32(6) } }, upsert: false }] },
    ]);
  });

  it('whose document is gone is deleted under the key that it has on the destination', async () => {
    destination = [bytesOf({ _id: 1, sk: 7 })];
    await reread(1);
    expect(writes.map(({ kind }) => kind)).toEqual(['delete']);
    expect(filtersOf('delete')).toEqual([{ sk: new Int32(7), _id: new Int32(1) }]);
  });

  it('whose document has another shard key now is deleted first', async () => {
    [source, destination] = [[bytesOf({ _id: 1, sk: 3 })], [bytesOf({ _id: 1, sk: 7 })]];
    await reread(1);
    expect(writes.map(({ kind }) => kind)).toEqual(['delete', 'update']);
  });

  it('whose _id has another type now is deleted first: no update changes an _id', async () => {
    [source, destination] = [[bytesOf({ _id: new Double(1), sk: 3 })], [bytesOf({ _id: new Int32(1), sk: 3 })]];
    await reread(1);
    expect([filtersOf('delete')[0]?._id, filtersOf('update')[0]?._id]).toEqual([new Int32(1), new Double(1)]);
  });

  it("that is another share's on either side is left to it", async () => {
    collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 3 });
    source = [bytesOf({ _id: 1, sk: 4 })];
    destination = [bytesOf({ _id: 1, sk: 7 })];
    await reread(1);
    expect(writes).toEqual([]);
    expect(rereads.size).toBe(0);
  });

  it('is covered by begun up to the end of its reading, before anything is written', async () => {
    source = [bytesOf({ _id: 1, sk: 3 })];
    await reread(1);
    expect(watermarks).toEqual([25n, readEnd]);
  });

  it('lets held events go on in the moment in which it leaves the set', async () => {
    duringRead = () => void rereads.absorb(updateOf(1, 30n, { a: 1 }), collection);
    await reread(1);
    expect(released).toEqual([{ buffered: 2, size: 0 }]);
    expect(rereads.readEndOf(collection, rawOf(1))).toBe(readEnd);
  });

  it('whose time became unreadable is read again later, with what was held in it', async () => {
    failRead = serverError(246);
    duringRead = () => void rereads.absorb(updateOf(1, 30n, { a: 1 }), collection);
    await reread(1);
    expect([...rereads.entries()]).toMatchObject([{ readTime: null, buffered: [], dropped: 30n, attempts: 1 }]);
  });
});

describe('a doubtful key of a collection that is let go of', () => {
  it('is read again later: what its reading waits for may wait for the change itself', async () => {
    collection = collectionOf({ readBy: 'name' });
    source = [bytesOf({ _id: 1, sk: 3 })];
    untilNamed = (_collection, signal) => new Condition().until(() => false, signal);
    const { rereader } = await reread(1);
    const quiet = rereader.quiet(collection.uuid, never);
    rereader.suspend(collection.uuid);
    await quiet;
    expect(writes).toEqual([]);
    expect([...rereads.entries()]).toMatchObject([{ readTime: null, attempts: 1 }]);
  });

  it('of another one is repaired all the same', async () => {
    let named = (): void => undefined;
    collection = collectionOf({ readBy: 'name' });
    source = [bytesOf({ _id: 1, sk: 3 })];
    untilNamed = () => new Promise((resolve) => (named = resolve));
    const { rereader } = await reread(1);
    rereader.suspend('0b'.repeat(16));
    named();
    await settled();
    expect([writes.length, rereads.size]).toEqual([1, 0]);
  });
});

describe('a doubtful key of a capped collection, which is not read at one time', () => {
  it('is read by its UUID on a shard, whatever the collection is called by then', async () => {
    collection = collectionOf({ capped: true, sourceKey: [], destinationKey: [] });
    [source, destination] = [[bytesOf({ _id: 1, a: 2 })], [bytesOf({ _id: 1, a: 1 })]];
    await reread(1);
    expect(reads[0]).toMatchObject({
      find: new Binary(Buffer.from(collection.uuid, 'hex'), Binary.SUBTYPE_UUID),
      readConcern: { level: 'majority' },
    });
    expect([writes.length, rereads.size]).toEqual([1, 0]);
  });

  it('stays when the collection is gone', async () => {
    collection = collectionOf({ capped: true, sourceKey: [], destinationKey: [] });
    failRead = serverError(26);
    await reread(1);
    expect([...rereads.entries()]).toMatchObject([{ readTime: null, attempts: 1 }]);
  });

  it("stays when the name it was read under may have been another collection's by then", async () => {
    collection = collectionOf({ capped: true, sourceKey: [], destinationKey: [], readBy: 'name' });
    [source, destination] = [[bytesOf({ _id: 1, a: 2 })], [bytesOf({ _id: 1, a: 1 })]];
    duringRead = () => void (mayRead = false);
    await reread(1);
    expect([writes, [...rereads.entries()]]).toMatchObject([[], [{ readTime: null, attempts: 1 }]]);
    [mayRead, duringRead] = [true, () => undefined];
    for (let moment = 0; moment < 400; moment += 1) await scheduler.step();
    expect([writes.length, rereads.size]).toEqual([1, 0]);
  });
});

describe('keys with large documents', () => {
  /** Of the largest size that servers take. */
  const largest = (_id: number): Uint8Array =>
    bytesOf({ _id, sk: 3, text: new Binary(new Uint8Array(16 * 2 ** 20 - 33)) });

  it('are written in bulks that the server takes', async () => {
    const size = 5 * 2 ** 20;
    source = [1, 2, 3].map((_id) => bytesOf({ _id, sk: 3, text: new Binary(new Uint8Array(size)) }));
    destination = [1, 2, 3].map((_id) => bytesOf({ _id, sk: 7 }));
    await reread(1, 2, 3);
    expect(rereads.size).toBe(0);
    expect(filtersOf('update').map(({ _id }) => String(_id))).toEqual(['1', '2', '3']);
  });

  it('are read fewer at a time when all of them together are too much, and the largest alone', async () => {
    const documents = new Map([1, 2, 3].map((_id) => [_id, largest(_id)]));
    duringRead = () => {
      const { filter } = reads.at(-1) as { filter: { _id: { $in: Int32[] } } };
      source = filter._id.$in.flatMap((id) => documents.get(Number(id)) ?? []);
    };
    await reread(1, 2, 3);
    for (let moment = 0; moment < 400; moment += 1) await scheduler.step();
    expect(rereads.size).toBe(0);
    expect(
      filtersOf('update')
        .map(({ _id }) => String(_id))
        .sort(),
    ).toEqual(['1', '2', '3']);
    expect(writes.map(({ statements }) => statements.length)).toEqual([1, 1, 1]);
  });
});

it('keys with large _ids are read fewer at a time: their filter has to fit into a command', async () => {
  const ids = ['a', 'b', 'c'].map((letter) => letter.repeat(4 * 2 ** 20));
  await reread(...ids);
  for (let moment = 0; moment < 400; moment += 1) await scheduler.step();
  expect(rereads.size).toBe(0);
  const asked = reads.map(({ filter }) => (filter as { _id: { $in: string[] } })._id.$in.length);
  expect(asked.every((count) => count <= 1)).toBe(true);
});

describe('a key that another document blocks', () => {
  const blocked = { n: 0, failures: [{ index: 0, code: 11000, message: '' }] };

  it('stays in the set, and the others of its batch leave', async () => {
    source = [bytesOf({ _id: 1, sk: 3 }), bytesOf({ _id: 2, sk: 3 })];
    answers = [{ ...blocked, n: 1 }];
    await reread(1, 2);
    expect([...rereads.entries()].map(({ id, attempts }) => [id, attempts])).toEqual([[rawOf(1), 1]]);
    expect(released).toEqual([{ buffered: 0, size: 1 }]);
  });

  const [own, other, outdated] = [bytesOf({ _id: 1, sk: 3 }), bytesOf({ _id: 1, sk: 7 }), bytesOf({ _id: 1, sk: 9 })];

  async function tryMany(): Promise<{ ended: unknown }> {
    let ended: unknown = null;
    const { run } = await reread(1);
    void run.then((error) => (ended = error));
    for (let moment = 0; moment < 400; moment += 1) await scheduler.step();
    return { ended };
  }

  it('ends the migration when the source holds both documents', async () => {
    collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 3 });
    [source, destination, everywhere] = [[own], [other], [own, other]];
    answers = Array.from({ length: 9 }, () => blocked);
    expect((await tryMany()).ended).toMatchObject({ error: 'duplicateIdAcrossShards' });
    expect(writes).toHaveLength(5);
  });

  it('ends the migration when the share owns both documents, as through a router', async () => {
    [source, destination, everywhere] = [[own, other], [own], [own, other]];
    answers = Array.from({ length: 9 }, () => ({ n: 1, failures: [{ index: 1, code: 11000, message: '' }] }));
    expect((await tryMany()).ended).toMatchObject({ error: 'duplicateIdAcrossShards' });
  });

  it.each([
    ['the other is gone from the source', [other], [own]],
    ['its own is gone by now', [other], [other]],
    ['both live, and a third that is outdated is in the way', [other, outdated], [own, other]],
    ['nothing is in the way any more', [], [own, other]],
  ])('is tried again as long as %s', async (_why, onDestination, onSource) => {
    collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 3 });
    [source, destination, everywhere] = [[own], onDestination, onSource];
    answers = Array.from({ length: 7 }, () => blocked);
    expect((await tryMany()).ended).toBeNull();
    expect([writes.length, rereads.size]).toEqual([8, 0]);
  });
});

describe('a key whose document the destination does not take yet', () => {
  const refusedBy = (code: number) => ({ n: 0, failures: [{ index: 0, code, message: '' }] });
  const [bad, fixed] = [bytesOf({ _id: 1, sk: 3, place: 'nowhere' }), bytesOf({ _id: 1, sk: 3, place: [1, 2] })];

  /** Repairs until the key has left the set or so many attempts were made. */
  async function tryAgain(attempts: number): Promise<{ ended: unknown }> {
    let ended: unknown = null;
    const { run } = await reread(1);
    void run.then((error) => (ended = error));
    while (writes.length < attempts && rereads.size > 0 && ended === null) await scheduler.step();
    await settled();
    return { ended };
  }

  it('because an index is ahead of it is read again until the source has mended it', async () => {
    source = [bad];
    answers = Array.from({ length: 20 }, () => refusedBy(16755));
    duringRead = () => {
      if (writes.length === 20) source = [fixed];
    };
    expect((await tryAgain(30)).ended).toBeNull();
    expect([writes.length, rereads.size]).toEqual([21, 0]);
  });

  it('because an index is ahead of it waits however far the readings are behind what the source has', async () => {
    [source, everywhere] = [[bad], [fixed]];
    answers = Array.from({ length: 400 }, () => refusedBy(171));
    expect((await tryAgain(400)).ended).toBeNull();
    expect(rereads.size).toBe(1);
  });

  it('because of an index ends the migration when the source has the very document after half an hour', async () => {
    [source, everywhere] = [[bad], [bad]];
    answers = Array.from({ length: 400 }, () => refusedBy(16755));
    const started_ms = scheduler.monotonic_ms();
    expect((await tryAgain(400)).ended).toMatchObject({
      error: 'writeRefused',
      errorDescription: 'The destination refused a write to shop.orders with code 16755.',
    });
    expect(scheduler.monotonic_ms() - started_ms).toBeGreaterThanOrEqual(25 * 60_000);
  });

  it('because of an index says nothing of documents with the same _id on several shards', async () => {
    const twin = bytesOf({ _id: 1, sk: 7 });
    [source, destination, everywhere] = [[fixed, twin], [twin], [fixed, twin]];
    answers = Array.from({ length: 8 }, () => ({ ...refusedBy(16755), n: 1 }));
    expect((await tryAgain(20)).ended).toBeNull();
    expect(rereads.size).toBe(0);
  });

  it("because the collection's collation finds one that is still to be deleted is written after that", async () => {
    collection = collectionOf({ collated: true, sourceKey: [], destinationKey: [] });
    source = [bytesOf({ _id: 1 })];
    answers = Array.from({ length: 7 }, () => refusedBy(66));
    expect((await tryAgain(20)).ended).toBeNull();
    expect([writes.length, rereads.size]).toEqual([8, 0]);
  });
});

it.each([
  ['written', [bytesOf({ _id: 1, sk: 3 })], [], 'update'],
  ['deleted', [], [bytesOf({ _id: 1, sk: 3 })], 'delete'],
] as const)(
  'a document that is to be %s, of which nobody knows whether it was, is so again',
  async (_how, onSource, onDestination, kind) => {
    [source, destination, retrying] = [[...onSource], [...onDestination], times(2)];
    answers = [{ n: 0, failures: [{ index: 0, code: 217, message: '' }] }];
    await reread(1);
    expect(writes.map((one) => one.kind)).toEqual([kind, kind]);
    expect(rereads.size).toBe(0);
  },
);

it('a refused repair ends the migration by namespace and code', async () => {
  source = [bytesOf({ _id: 1, sk: 3 })];
  answers = [{ n: 0, failures: [{ index: 0, code: 10334, message: 'secret' }] }];
  const { run } = await reread(1);
  expect(await run).toMatchObject({
    error: 'documentTooLarge',
    errorDescription: 'A document of shop.orders is larger than the destination takes.',
  });
});

describe('a range of keys that is given up', () => {
  it('loses its own documents, whatever the source has, and its keys', async () => {
    collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 1 });
    [source, destination] = [[bytesOf({ _id: 1, sk: 1 })], [bytesOf({ _id: 1, sk: 1 }), bytesOf({ _id: 2, sk: 2 })]];
    const left: bigint[] = [];
    givenUp = () =>
      rereads.size === 0
        ? null
        : { collection, entries: [...rereads.entries()], left: (dropped) => void left.push(dropped) };
    await reread(1, 2);
    expect(writes).toMatchObject([{ kind: 'delete', statements: [{ q: { _id: new Int32(1), sk: new Int32(1) } }] }]);
    expect([rereads.size, left]).toEqual([0, [25n]]);
  });

  it('keeps its keys as long as the destination cannot be read', async () => {
    failRead = serverError(175);
    givenUp = () => ({ collection, entries: [...rereads.entries()], left: () => undefined });
    await reread(1);
    expect([rereads.size, writes]).toEqual([1, []]);
  });
});
