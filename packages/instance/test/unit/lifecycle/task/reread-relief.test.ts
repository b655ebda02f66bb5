import type { Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { RereadRelief } from '../../../../src/lifecycle/task/reread-relief.js';
import type { UndoneEntries } from '../../../../src/lifecycle/task/task-ddl.js';
import { ByteBudget } from '../../../../src/async/waiting.js';
import type { Partition } from '../../../../src/store/partition.js';
import { PartitionTable } from '../../../../src/store/partition-table.js';
import { RereadSet } from '../../../../src/store/reread-set.js';
import type { SyncedCollection } from '../../../../src/store/synced-collection.js';
import { collectionOf, never, rawOf, settled } from '../../model/parts.js';
import { randomOf, Scheduler } from '../../model/scheduler.js';
import { bringTo } from '../../model/partition-states.js';
import { only } from '../../../../../../test/only.js';
import type { EventDispatcher } from '../../../../src/apply/event-dispatcher.js';
import type { Copier } from '../../../../src/copy/copier.js';

let collection: SyncedCollection;
let rereads: RereadSet;
let tables: Map<string, PartitionTable>;
let saved: Document[][];
let atSaving: string[];
let suspend: boolean;
let reopened: number;
let taken: Set<Partition>;
let relief: RereadRelief;

/** Two partitions, below 10 and from 10 on. */
function begin(changes: Partial<SyncedCollection> = {}, fullAt = 3, starts = [10]): void {
  collection = collectionOf(changes);
  [saved, atSaving, suspend, reopened] = [[], [], false, 0];
  taken = new Set();
  rereads = new RereadSet(
    { upsert: () => Promise.resolve(), remove: () => Promise.resolve() },
    new ByteBudget(1000),
    fullAt,
  );
  const table = PartitionTable.fresh(collection, starts.map(rawOf), (_collection, partitions) => {
    atSaving.push(partition(0).state);
    saved.push(partitions);
    return Promise.resolve();
  });
  for (const each of table.partitions) bringTo(each, 'done', 5n);
  tables = new Map([[collection.uuid, table]]);
  relief = new RereadRelief({
    rereads,
    clock: new Scheduler(randomOf(1)),
    tables,
    dispatcher: only<EventDispatcher>({ latest: 30n }),
    copier: only<Copier>({ isTaken: (each) => taken.has(each), reopened: () => void (reopened += 1) }),
    undone: only<UndoneEntries>({ isSuspended: () => suspend }),
  });
}

function partition(index: number): Partition {
  const found = tables.get(collection.uuid)?.partitions[index];
  if (found === undefined) throw new Error('no such partition');
  return found;
}

/** Brings a partition that is done back to waiting. */
function waitAgain(done: Partition): void {
  done.startReopening();
  done.reopen(5n);
  done.finishReopening();
}

async function reread(...ids: number[]): Promise<void> {
  await rereads.add(ids.map((id) => ({ collection, id: rawOf(id), reason: 'duplicateKey' as const, time: 25n })));
}

beforeEach(() => begin());

describe('a re-read set that is full', () => {
  it('gives up the partition with most of its keys, durably first', async () => {
    await reread(1, 20);
    expect(await relief.next()).toBeNull();
    await reread(2);
    expect((await relief.next())?.entries.map(({ id }) => id)).toEqual([rawOf(1), rawOf(2)]);
    expect(atSaving).toEqual(['done']);
    expect(saved[0]).toMatchObject([
      { state: 'waiting', dirty: true },
      { state: 'done', dirty: false },
    ]);
    expect([partition(0), partition(1)]).toMatchObject([
      { state: 'waiting', dirty: true, reopening: true },
      { state: 'done', reopening: false },
    ]);
  });

  it('leaves a partition alone that the copy has taken, even while its attempt waits to start', async () => {
    waitAgain(partition(0));
    taken.add(partition(0));
    await reread(1, 2, 20);
    expect((await relief.next())?.entries.map(({ id }) => id)).toEqual([rawOf(20)]);
    expect([partition(0).reopening, partition(1).reopening]).toEqual([false, true]);
  });

  it('has it copied at a time that is not below any dispatched event, once its keys are gone', async () => {
    await reread(1, 2, 20);
    const range = await relief.next();
    expect(partition(0).dropped).toBe(30n);
    range?.left(await rereads.giveUp(range.entries));
    expect([partition(0).reopening, reopened, rereads.size]).toEqual([true, 0, 1]);
    range?.left(31n);
    expect(await relief.next()).toBeNull();
    expect([partition(0).reopening, partition(0).dropped, reopened]).toEqual([false, 31n, 1]);
  });

  it('continues with keys that have come to the range meanwhile', async () => {
    await reread(1, 2, 20);
    const range = await relief.next();
    await reread(3);
    range?.left(await rereads.giveUp(range.entries));
    expect((await relief.next())?.entries.map(({ id }) => id)).toEqual([rawOf(3)]);
    expect(reopened).toBe(0);
  });

  it('keeps an entry whose document may have a statement in flight, and the range, until the answer', async () => {
    let answer = (): void => undefined;
    const key = { collection, id: rawOf(3), reason: 'mismatch' as const, time: 0n };
    await reread(1, 2, 20);
    const parked = rereads.addParked([key], () => new Promise<void>((resolve) => (answer = resolve)));
    await settled();
    const range = await relief.next();
    expect(range?.entries.map(({ id }) => id)).toEqual([rawOf(1), rawOf(2)]);
    range?.left(await rereads.giveUp(range.entries));
    expect([(await relief.next())?.entries, reopened]).toEqual([[], 0]);
    answer();
    await parked;
    expect((await relief.next())?.entries.map(({ id }) => id)).toEqual([rawOf(3)]);
  });

  it('waits while the collection is suspended, and ends with a collection that is gone', async () => {
    await reread(1, 2, 20);
    suspend = true;
    expect(await relief.next()).toBeNull();
    expect(partition(0).state).toBe('done');
    begin();
    await reread(1, 2, 20);
    await relief.next();
    suspend = true;
    expect(await relief.next()).toBeNull();
    suspend = false;
    tables.clear();
    expect(await relief.next()).toBeNull();
    expect(reopened).toBe(0);
  });

  it.each([
    ['is being copied', {}, 'copying' as const],
    ['is capped', { capped: true }, 'done' as const],
  ])('gives up nothing that %s', async (_what, changes, state) => {
    begin(changes);
    waitAgain(partition(0));
    bringTo(partition(0), state, 5n);
    await reread(1, 2, 3);
    expect(await relief.next()).toBeNull();
    expect(saved).toEqual([]);
  });

  it('gives up the next partition at once while it is still full', async () => {
    await reread(1, 2, 3, 20, 21, 22);
    const range = await relief.next();
    range?.left(await rereads.giveUp(range.entries));
    expect((await relief.next())?.entries.map(({ id }) => id)).toEqual([rawOf(20), rawOf(21), rawOf(22)]);
    expect(reopened).toBe(1);
  });

  it('gives up several partitions of a collection together, until they have a tenth of its keys', async () => {
    begin({}, 30, [10, 20, 30]);
    await reread(...Array.from({ length: 26 }, (_, index) => index - 20), 10, 20, 21, 30, 31);
    waitAgain(partition(0));
    bringTo(partition(0), 'copying', 5n);
    expect((await relief.next())?.entries.map(({ id }) => id)).toEqual([20, 21, 30, 31].map(rawOf));
    expect([0, 1, 2, 3].map((index) => partition(index).reopening)).toEqual([false, false, true, true]);
    expect([saved.length, partition(2).dropped, partition(3).dropped]).toEqual([1, 30n, 30n]);
  });
});

describe('apply workers', () => {
  /** Whether they may go on. */
  async function hasRoom(): Promise<boolean> {
    let room = false;
    const asked = new AbortController();
    const waits = rereads.untilRoom(asked.signal).then(
      () => (room = true),
      () => undefined,
    );
    await settled();
    asked.abort(new Error('no room'));
    await waits;
    return room;
  }

  it('wait while the set is one and a half times as large as a full one, and is given up', async () => {
    await reread(1, 2, 3, 20);
    await relief.next();
    expect(await hasRoom()).toBe(true);
    await reread(21);
    expect(await hasRoom()).toBe(false);
    const range = await relief.next();
    let room = false;
    const waits = rereads.untilRoom(never).then(() => (room = true));
    range?.left(await rereads.giveUp(range.entries.slice(0, 1)));
    await waits;
    expect(room).toBe(true);
  });

  it.each([
    ['nothing can be given up', () => tables.clear()],
    ['the collection is suspended', () => void (suspend = true)],
  ])('do not wait when %s: it would not end', async (_what, change) => {
    await reread(1, 2, 3, 20, 21);
    await relief.next();
    const waits = rereads.untilRoom(never);
    change();
    await relief.next();
    await waits;
    expect(await hasRoom()).toBe(true);
  });

  it('do not wait for an entry that waits for them', async () => {
    await reread(1, 20, 21);
    const keys = [22, 23].map((id) => ({ collection, id: rawOf(id), reason: 'mismatch' as const, time: 0n }));
    let answer = (): void => undefined;
    const parked = rereads.addParked(keys, () => new Promise<void>((resolve) => (answer = resolve)));
    const range = await relief.next();
    range?.left(await rereads.giveUp(range.entries));
    await reread(2, 3);
    expect([await relief.next(), rereads.size, await hasRoom()]).toMatchObject([{ entries: [] }, 5, true]);
    answer();
    await parked;
    await relief.next();
    expect(await hasRoom()).toBe(false);
  });
});
