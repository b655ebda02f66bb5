import { BSON, type Document, Double, Int32 } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Door, RawBatch, RawWrite, WriteOutcome } from '../../../src/cluster/door.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { Repairer } from '../../../src/repair/repairer.js';
import type { RepairContext } from '../../../src/repair/repair-context.js';
import { Begun } from '../../../src/store/begun.js';
import { ByteBudget } from '../../../src/store/byte-budget.js';
import { RepairSet } from '../../../src/store/repair-set.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { batchOf, serverError } from '../model/calls.js';
import { bytesOf, collectionOf, never, once, rawOf, settled, updateOf } from '../model/parts.js';
import { randomOf, Scheduler } from '../model/scheduler.js';

const readEnd = 40n;
let collection: SyncedCollection;
let source: Uint8Array[];
let destination: Uint8Array[];
let reads: Document[];
let writes: { kind: string; statements: Document[] }[];
let answers: Partial<WriteOutcome>[];
let begunTimes: bigint[];
let released: { held: number; size: number }[];
let repairs: RepairSet;
let routed: (() => void) | null;
let everywhere: Uint8Array[];
let failRead: Error | null;
let duringRead: () => void;
let scheduler: Scheduler;
let stop: AbortController;

beforeEach(() => {
  collection = collectionOf();
  [source, destination, reads, writes, answers, begunTimes, released, everywhere] = [[], [], [], [], [], [], [], []];
  [routed, failRead, duringRead] = [null, null, () => undefined];
  repairs = new RepairSet({ put: () => Promise.resolve(), remove: () => Promise.resolve() }, new ByteBudget(1000));
  scheduler = new Scheduler(randomOf(1));
  stop = new AbortController();
});

function doorOf(documents: () => Uint8Array[], about: Partial<RawBatch>): Door {
  const openCursor = (_database: string, command: Document) => {
    reads.push(command);
    duringRead();
    if (failRead !== null) return Promise.reject(failRead);
    return Promise.resolve({ first: batchOf([...documents()], about), open: false, next: () => Promise.reject(new Error('no more')), close: () => Promise.resolve() });
  };
  return { label: 'door', openCursor } as unknown as Door;
}

function write({ kind, statements }: RawWrite): Promise<WriteOutcome> {
  writes.push({ kind, statements: statements.map((statement) => BSON.deserialize(statement, { promoteValues: false })) });
  return Promise.resolve({ n: statements.length, nModified: 0, upserted: 0, failures: [], ...answers.shift() });
}

/** Begins to repair the keys and lets everything happen that waits for nothing. */
async function repair(...ids: unknown[]): Promise<{ run: Promise<unknown> }> {
  await repairs.add(ids.map((id) => ({ collection, id: rawOf(id), reason: 'duplicateKey' as const, time: 25n })));
  const context: RepairContext = {
    shard: doorOf(() => source, { atClusterTime: timestampOf(25n), operationTime: timestampOf(readEnd) }),
    destination: doorOf(() => destination, {}),
    source: doorOf(() => everywhere, {}),
    writer: { write } as never,
    repairs,
    begun: new Begun(0n, (time) => Promise.resolve(void begunTimes.push(time)), () => 0n),
    retrying: once,
    clock: scheduler,
    position: () => 20n,
    untilRouted: () => (routed === null ? Promise.resolve() : new Promise((resolve) => (routed = resolve))),
    mayRead: () => true,
    release: (entry) => void released.push({ held: entry.held.length, size: repairs.size }),
  };
  const run = new Repairer(context).run(stop.signal, never).catch((error: unknown) => error);
  await settled();
  return { run };
}

function filtersOf(kind: string): Document[] {
  return writes.filter((one) => one.kind === kind).flatMap(({ statements }) => statements.map(({ q }) => q as Document));
}

describe('a doubtful key', () => {
  it('is read at a time that includes every event that was dropped for it, once all of that was routed', async () => {
    routed = () => undefined;
    await repair(1);
    expect(reads).toEqual([]);
    routed();
    await settled();
    expect((reads[0]?.readConcern as Document).atClusterTime).toEqual(timestampOf(25n));
  });

  it('is written whole under its full key', async () => {
    source = [bytesOf({ _id: 1, sk: 3, a: 1 })];
    await repair(1);
    expect(writes).toMatchObject([{ kind: 'update', statements: [{ q: { sk: new Int32(3), _id: new Int32(1) }, u: [{ $replaceWith: { $literal: { a: new Int32(1) } } }], upsert: true }] }]);
    expect(repairs.size).toBe(0);
  });

  it('whose document is gone is deleted under the key that it has on the destination', async () => {
    destination = [bytesOf({ _id: 1, sk: 7 })];
    await repair(1);
    expect(writes.map(({ kind }) => kind)).toEqual(['delete']);
    expect(filtersOf('delete')).toEqual([{ sk: new Int32(7), _id: new Int32(1) }]);
  });

  it('whose document has another shard key now is deleted first', async () => {
    source = [bytesOf({ _id: 1, sk: 3 })];
    destination = [bytesOf({ _id: 1, sk: 7 })];
    await repair(1);
    expect(writes.map(({ kind }) => kind)).toEqual(['delete', 'update']);
  });

  it('whose _id has another type now is deleted first: no update changes an _id', async () => {
    source = [bytesOf({ _id: new Double(1), sk: 3 })];
    destination = [bytesOf({ _id: new Int32(1), sk: 3 })];
    await repair(1);
    expect([filtersOf('delete')[0]?._id, filtersOf('update')[0]?._id]).toEqual([new Int32(1), new Double(1)]);
  });

  it('that is another share\'s on either side is left to it', async () => {
    collection = collectionOf({ owns: (document) => BSON.deserialize(document).sk === 3 });
    source = [bytesOf({ _id: 1, sk: 4 })];
    destination = [bytesOf({ _id: 1, sk: 7 })];
    await repair(1);
    expect(writes).toEqual([]);
    expect(repairs.size).toBe(0);
  });

  it('is covered by begun up to the end of its reading, before anything is written', async () => {
    source = [bytesOf({ _id: 1, sk: 3 })];
    await repair(1);
    expect(begunTimes).toEqual([25n, readEnd]);
  });

  it('lets held events go on in the moment in which it leaves the set', async () => {
    duringRead = () => void repairs.absorb(updateOf(1, 30n, { a: 1 }), collection);
    await repair(1);
    expect(released).toEqual([{ held: 2, size: 0 }]);
    expect(repairs.readEndOf(collection, rawOf(1))).toBe(readEnd);
  });

  it('whose time became unreadable is read again later, with what was held in it', async () => {
    failRead = serverError(246);
    duringRead = () => void repairs.absorb(updateOf(1, 30n, { a: 1 }), collection);
    await repair(1);
    expect([...repairs.entries()]).toMatchObject([{ readTime: null, held: [], dropped: 30n, attempts: 1 }]);
  });
});

describe('a key that another document blocks', () => {
  const blocked = { n: 0, failures: [{ index: 0, code: 11000, message: '' }] };

  it('stays in the set, and the others of its batch leave', async () => {
    source = [bytesOf({ _id: 1, sk: 3 }), bytesOf({ _id: 2, sk: 3 })];
    answers = [{ ...blocked, n: 1 }];
    await repair(1, 2);
    expect([...repairs.entries()].map(({ id, attempts }) => [id, attempts])).toEqual([[rawOf(1), 1]]);
    expect(released).toEqual([{ held: 0, size: 1 }]);
  });

  const [own, other, outdated] = [bytesOf({ _id: 1, sk: 3 }), bytesOf({ _id: 1, sk: 7 }), bytesOf({ _id: 1, sk: 9 })];

  async function tryMany(): Promise<{ ended: unknown }> {
    let ended: unknown = null;
    const { run } = await repair(1);
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
    expect([writes.length, repairs.size]).toEqual([8, 0]);
  });
});

it('a refused repair ends the migration by namespace and code', async () => {
  source = [bytesOf({ _id: 1, sk: 3 })];
  answers = [{ n: 0, failures: [{ index: 0, code: 10334, message: 'secret' }] }];
  const { run } = await repair(1);
  expect(await run).toMatchObject({ error: 'documentTooLarge', errorDescription: 'A document of shop.orders is larger than the destination takes.' });
});
