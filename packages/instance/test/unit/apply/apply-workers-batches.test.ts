import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { BSON } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  ApplyWorker,
  type ApplyWorkerDependencies,
  ApplyWorkers,
  EventQueue,
} from '../../../src/apply/apply-workers.js';
import { composeBatch, HotDocuments, type RoutedEvent } from '../../../src/apply/write-batch.js';
import { idClass } from '../../../src/bson/id.js';
import type { RawWrite, WriteOutcome } from '../../../src/cluster/node-client.js';
import { ApplyWatermark } from '../../../src/store/task-record.js';
import { ByteBudget, Condition } from '../../../src/async/waiting.js';
import type { ChangeEvent } from '../../../src/store/change-event.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import { changeOf, collectionOf, insertOf, never, rawOf, settled, updateOf } from '../model/parts.js';

const collection = collectionOf();
let writes: RawWrite[];
let answers: ((outcome: Partial<WriteOutcome>) => void)[];
let stored: string[];
let watermarks: bigint[];
let budget: ByteBudget;
let rereads: RereadSet;
let deps: ApplyWorkerDependencies;
let applied: number;

beforeEach(() => {
  writes = [];
  answers = [];
  stored = [];
  watermarks = [];
  applied = 0;
  budget = new ByteBudget(1_000_000);
  const storage = {
    upsert: (documents: { reason?: unknown }[]) =>
      Promise.resolve(void stored.push(...documents.map(({ reason }) => String(reason)))),
    remove: () => Promise.resolve(),
  };
  rereads = new RereadSet(storage, budget);
  deps = {
    writer: { write },
    findPresent: () => Promise.resolve(null),
    rereads,
    budget,
    applyWatermark: new ApplyWatermark(
      0n,
      (time) => Promise.resolve(void watermarks.push(time)),
      () => 0n,
    ),
    progressed: new Condition(),
    clock: { monotonic_ms: () => 0 },
    onApplied: (events) => (applied += events),
  };
});

function write(one: RawWrite): Promise<WriteOutcome> {
  writes.push(one);
  return new Promise((resolve) =>
    answers.push((outcome) =>
      resolve({ n: one.statements.length, nModified: 0, upserted: 0, failures: [], ...outcome }),
    ),
  );
}

async function answer(outcome: Partial<WriteOutcome> = {}): Promise<void> {
  answers.shift()?.(outcome);
  await settled();
}

function routedOf(event: ChangeEvent): RoutedEvent {
  budget.take(event.bytes);
  return {
    event,
    collection,
    workerClass: idClass(event.id, false),
    bounds: { watermark: 0n, readEnd: null },
    purpose: 'apply',
  };
}

async function running(...events: ChangeEvent[]): Promise<ApplyWorker> {
  const worker = new ApplyWorker(deps);
  for (const event of events) worker.push(routedOf(event));
  void worker.run(never, never).catch(() => undefined);
  await settled();
  return worker;
}

describe('a write batch', () => {
  it('has at most one statement per id class; the next batch waits for all answers', async () => {
    await running(insertOf(1, 1n), insertOf(2, 2n), insertOf(1, 3n, { sk: 2 }));
    expect(writes.map(({ kind, statements }) => [kind, statements.length])).toEqual([['insert', 2]]);
    await answer();
    expect(writes.map(({ kind, statements }) => [kind, statements.length])).toEqual([
      ['insert', 2],
      ['insert', 1],
    ]);
  });

  it('is sent as unordered bulks, one per kind', async () => {
    await running(insertOf(1, 1n), changeOf(2, 2n, { operation: 'delete' }), updateOf(3, 3n, { a: 1 }));
    expect(writes.map(({ kind, ordered }) => [kind, ordered])).toEqual([
      ['insert', false],
      ['delete', false],
      ['update', false],
    ]);
  });

  it('is covered by the apply watermark before it is sent', async () => {
    let save: () => void = () => undefined;
    deps.applyWatermark = new ApplyWatermark(
      0n,
      () => new Promise((resolve) => (save = resolve)),
      () => 0n,
    );
    await running(insertOf(1, 7n));
    expect(writes).toEqual([]);
    save();
    await settled();
    expect(writes).toHaveLength(1);
  });

  it('keeps its bytes and its earliest time until all its events are durable', async () => {
    const worker = await running(insertOf(1, 1n), insertOf(2, 2n));
    expect([worker.oldest(), budget.used]).toEqual([1n, 200]);
    await answer();
    expect([worker.oldest(), budget.used, applied]).toEqual([null, 0, 2]);
  });

  it('has one statement for actions that fold', async () => {
    await running(updateOf(1, 1n, { a: 1 }), updateOf(1, 2n, { a: 2, b: 1 }));
    const [statement] = writes[0]?.statements ?? [];
    expect(statement === undefined ? null : BSON.deserialize(statement)).toMatchObject({
      q: { sk: 1, _id: 1 },
      u: { $set: { a: 2, b: 1 } },
    });
  });
});

describe('a re-read request', () => {
  it('of a duplicate key is durable before the batch counts as applied', async () => {
    const worker = await running(insertOf(1, 1n), insertOf(2, 2n));
    await answer({ n: 1, failures: [{ index: 1, code: 11000, message: '' }] });
    expect(stored).toEqual(['duplicateKey']);
    expect(worker.oldest()).toBeNull();
    expect([...rereads.entries()].map(({ dropped }) => dropped)).toEqual([2n]);
  });

  it('of an unmatched delta covers all deltas of the bulk when it is unknown which one', async () => {
    await running(updateOf(1, 1n, { a: 1 }), updateOf(2, 2n, { a: 1 }));
    await answer({ n: 1 });
    expect(stored).toEqual(['unmatchedDelta', 'unmatchedDelta']);
  });

  it('of an inexact delta absorbs later events of its document', async () => {
    await running(updateOf(1, 1n, { 'a.b': 1 }), updateOf(1, 2n, { a: 1 }), insertOf(2, 3n));
    expect(stored).toEqual(['inexactDelta']);
    expect(writes.map(({ kind }) => kind)).toEqual(['insert']);
    expect([...rereads.entries()].map(({ dropped }) => dropped)).toEqual([2n]);
  });

  it('waits for earlier statements of its document', async () => {
    await running(updateOf(1, 1n, { a: 1 }), updateOf(1, 2n, { 'a.b': 1 }));
    expect(stored).toEqual([]);
    await answer();
    expect(stored).toEqual(['inexactDelta']);
  });

  it('covers transactions up to the end of the read, even after the entry has left the set', async () => {
    await rereads.add([{ collection, id: rawOf(1), reason: 'duplicateKey', time: 5n }]);
    await rereads.remove([...rereads.entries()], 9n, () => undefined);
    await running(
      updateOf(1, 9n, { a: 1 }, { inTransaction: true }),
      updateOf(2, 9n, { a: 1 }, { inTransaction: true }),
    );
    expect(stored).toEqual(['duplicateKey', 'preparedTransaction']);
    expect(writes.map(({ statements }) => statements.length)).toEqual([1]);
  });

  it('covers every change of a capped collection up to that end, because it has no single read time', async () => {
    const capped = collectionOf({ capped: true });
    await rereads.add([{ collection: capped, id: rawOf(1), reason: 'duplicateKey', time: 5n }]);
    for (const entry of rereads.entries()) entry.readTime = 7n;
    await rereads.remove([...rereads.entries()], 9n, () => undefined);
    const worker = new ApplyWorker(deps);
    for (const event of [insertOf(1, 6n), updateOf(1, 9n, { a: 1 })])
      worker.push({ ...routedOf(event), collection: capped });
    void worker.run(never, never);
    await settled();
    await answer();
    expect(writes.map(({ kind }) => kind)).toEqual(['insert']);
    expect(stored).toEqual(['duplicateKey', 'replayedDelta']);
  });

  it('no longer covers them once everything up to that time is applied', async () => {
    await rereads.add([{ collection, id: rawOf(1), reason: 'duplicateKey', time: 5n }]);
    await rereads.remove([...rereads.entries()], 9n, () => undefined);
    rereads.forgetReadings(() => 10n);
    await running(updateOf(1, 11n, { a: 1 }, { inTransaction: true }));
    expect(writes).toHaveLength(1);
  });
});

it('events that a re-read has included are dropped when they arrive after it', async () => {
  await rereads.add([{ collection, id: rawOf(1), reason: 'inexactDelta', time: 5n }]);
  for (const entry of rereads.entries()) entry.readTime = 8n;
  await rereads.remove([...rereads.entries()], 9n, () => undefined);
  const worker = new ApplyWorker(deps);
  const included = [6n, 7n, 8n].map((time) => updateOf(1, time, { a: 1 }));
  for (const event of included) worker.push(routedOf(event));
  void worker.run(never, never);
  await settled();
  expect([writes.length, applied, worker.oldest()]).toEqual([0, 3, null]);
  for (const event of [updateOf(1, 9n, { a: 2 }), updateOf(2, 8n, { a: 1 })]) worker.push(routedOf(event));
  await settled();
  expect(writes.map(({ statements }) => statements.length)).toEqual([2]);
});

it('a failure that no repetition mends ends the worker, with namespace and code and without values', async () => {
  const worker = new ApplyWorker(deps);
  worker.push(routedOf(insertOf(1, 1n)));
  const run = worker.run(never, never);
  await settled();
  answers.shift()?.({ n: 0, failures: [{ index: 0, code: 121, message: 'secret value' }] });
  const error = await run.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConvoyError);
  expect(error).toMatchObject({
    error: 'writeRefused',
    errorDescription: 'The destination refused a write to shop.orders with code 121.',
  });
  expect(worker.oldest()).toBe(1n);
});

it('buffered events of a re-read precede all later ones, however many they are', () => {
  const worker = new ApplyWorker(deps);
  worker.push(routedOf(updateOf(1, 1_000_000n, { a: 2 })));
  const buffered = routedOf(updateOf(1, 1n, { a: 1 }));
  worker.pushFirst(Array.from({ length: 200_000 }, () => buffered));
  expect(worker.oldest()).toBe(1n);
});

it('a batch is bounded in statements', () => {
  const queue = new EventQueue();
  for (let id = 0; id < 1500; id += 1) queue.push(routedOf(insertOf(id, BigInt(id + 1))));
  const batch = composeBatch(queue, { ...deps, hot: new HotDocuments(deps.clock) });
  expect([batch.items.length, queue.length, batch.first, batch.last]).toEqual([1000, 500, 1n, 1000n]);
});

describe('apply workers', () => {
  it('are flushed up to a time once none has an earlier event', async () => {
    const applyWorkers = new ApplyWorkers(2, deps);
    for (let id = 1; id <= 4; id += 1) applyWorkers.push(routedOf(insertOf(id, BigInt(id))));
    let flushed = false;
    void applyWorkers.flushed(4n, never).then(() => (flushed = true));
    void applyWorkers.run(never, never).catch(() => undefined);
    await settled();
    expect([flushed, applyWorkers.oldest()]).toEqual([false, 1n]);
    while (answers.length > 0) await answer();
    expect([flushed, applyWorkers.oldest()]).toEqual([true, null]);
  });

  it('ask for more events once less than an eighth of the buffer waits for a batch', async () => {
    budget = new ByteBudget(4_000);
    const applyWorkers = new ApplyWorkers(1, { ...deps, budget });
    let room = 0;
    const ask = (): Promise<void> => applyWorkers.untilRoom(never).then(() => void (room += 1));
    applyWorkers.push(routedOf({ ...insertOf(1, 1n), bytes: 499 }));
    await ask();
    applyWorkers.push(routedOf({ ...insertOf(2, 2n), bytes: 1 }));
    const asked = ask();
    await settled();
    expect(room).toBe(1);
    void applyWorkers.run(never, never).catch(() => undefined);
    await settled();
    await answer();
    await asked;
    expect(room).toBe(2);
  });

  it('ask for more events once a collection that fills the buffer is suspended', async () => {
    budget = new ByteBudget(400);
    const applyWorkers = new ApplyWorkers(1, { ...deps, budget });
    applyWorkers.push(routedOf({ ...insertOf(1, 1n), bytes: 100 }));
    const asked = applyWorkers.untilRoom(never);
    applyWorkers.park(collection.uuid);
    await asked;
  });

  it('compose no batch while far too many documents have to be re-read and are being given up', async () => {
    deps.rereads = new RereadSet({ upsert: () => Promise.resolve(), remove: () => Promise.resolve() }, budget, 2);
    await deps.rereads.add([1, 2, 3, 4].map((id) => ({ collection, id: rawOf(id), reason: 'inexactDelta', time: 1n })));
    deps.rereads.relieved(true);
    const applyWorkers = new ApplyWorkers(1, deps);
    applyWorkers.push(routedOf(insertOf(5, 5n)));
    void applyWorkers.run(never, never).catch(() => undefined);
    await settled();
    expect([writes.length, applyWorkers.oldest()]).toEqual([0, 5n]);
    await deps.rereads.giveUp([...deps.rereads.entries()].slice(0, 1));
    await settled();
    expect(writes.length).toBe(1);
  });

  it('finish the batch in flight when they are stopped', async () => {
    const stop = new AbortController();
    const applyWorkers = new ApplyWorkers(1, deps);
    applyWorkers.push(routedOf(insertOf(1, 1n)));
    applyWorkers.push(routedOf(insertOf(1, 2n, { sk: 2 })));
    const run = applyWorkers.run(stop.signal, never).catch(() => 'ended');
    await settled();
    stop.abort(new ConvoyError('shuttingDown'));
    await answer();
    expect([await run, applyWorkers.oldest(), applied]).toEqual(['ended', 2n, 1]);
  });
});
