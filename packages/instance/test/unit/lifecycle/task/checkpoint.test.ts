import type { Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { findValue } from '../../../../src/bson/scan.js';
import type { RawWrite } from '../../../../src/cluster/node-client.js';
import { randomOf, Scheduler } from '../../model/scheduler.js';
import { TaskOwner } from '../../model/task-owner.js';
import { shardView } from '../../model/task-view.js';
import { SourceHistory, type SourceShard } from '../../model/source-history.js';
import { StallingDestination } from '../../model/stalling-destination.js';
import { type Change, carryOut, modelIds } from '../../model/workload.js';

const quiet = { network: 0, snapshotTooOld: 0, cursorLost: 0 };
/** Places among the model's `_id`s, all of different classes. */
const ids = [0, 3, 5, 7, 9, 10, 12, 13];
/** Within this many moments everything happens that waits for nothing. */
const longMoments = 3000;

let source: SourceHistory;
let destination: StallingDestination;
let scheduler: Scheduler;
let owner: TaskOwner;

beforeEach(() => {
  source = new SourceHistory(1);
  destination = new StallingDestination(2);
  scheduler = new Scheduler(randomOf(11));
  for (const id of ids) change(id, 'set');
  source.note(shard());
});

function shard(): SourceShard {
  const [only] = source.shards;
  if (only === undefined) throw new Error('no shard');
  return only;
}

/** @returns the time of the change */
function change(id: number, kind: Change['kind'], sk = 1): bigint {
  const value = Number(source.now % 3n);
  carryOut(source, { changes: [{ kind, id, fields: [[0, value]], sk }], transaction: 'none' });
  return source.now;
}

function begin(): void {
  owner = new TaskOwner(shardView(source, shard()), destination, scheduler, quiet, () => undefined, false);
  owner.begin();
}

async function moments(count: number): Promise<void> {
  for (let moment = 0; moment < count; moment += 1) {
    await scheduler.step();
    if (owner.failure !== null) throw owner.failure as Error;
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (let left = 10 * longMoments; !condition(); left -= 1) {
    if (left === 0) throw new Error('it does not happen');
    await moments(1);
  }
}

async function copied(): Promise<void> {
  begin();
  await until(() => owner.sync?.stats().copyDone === true);
}

/** Writes of the document at this place. */
function writesOf(id: number): (write: RawWrite) => boolean {
  const wanted = modelIds[id]?.bytes ?? new Uint8Array();
  return ({ kind, statements }) =>
    statements.some((statement) => {
      const document = kind === 'insert' ? statement : (findValue(statement, 'q')?.bytes ?? statement);
      return Buffer.compare(findValue(document, '_id')?.bytes ?? new Uint8Array(), wanted) === 0;
    });
}

function notes(count: number): void {
  for (let note = 0; note < count; note += 1) source.note(shard());
}

describe('the checkpoint', () => {
  it('stays at the first event that is not durable', async () => {
    await copied();
    destination.stalls = () => true;
    const first = change(0, 'replace');
    notes(5);
    await moments(longMoments);
    expect(destination.refusals).toBeGreaterThan(0);
    expect(destination.checkpoint).toBeLessThanOrEqual(first);
    destination.stalls = () => false;
    await until(() => destination.checkpoint > first);
  });

  it('stays at the event of a stalled apply worker while others continue', async () => {
    await copied();
    destination.stalls = writesOf(0);
    const first = change(0, 'replace');
    const others = ids.slice(1).map((id) => change(id, 'delete'));
    notes(5);
    await moments(longMoments);
    expect(destination.documents().length).toBeLessThan(ids.length);
    expect(destination.checkpoint).toBeLessThanOrEqual(first);
    destination.stalls = () => false;
    await until(() => destination.checkpoint > (others.at(-1) ?? first));
  });

  it('stays at the read time of a partition that is being copied', async () => {
    destination.stalls = () => true;
    begin();
    await until(() => destination.refusals > 0);
    const readTimes = destination.metadata
      .documents('partitions')
      .flatMap(({ partitions }) =>
        (partitions as { readTime: Timestamp | null }[]).flatMap(({ readTime }) => readTime?.toBigInt() ?? []),
      );
    change(0, 'replace');
    notes(5);
    await moments(longMoments);
    expect(readTimes.length).toBeGreaterThan(0);
    for (const readTime of readTimes) expect(destination.checkpoint).toBeLessThanOrEqual(readTime);
    destination.stalls = () => false;
    await until(() => destination.checkpoint > source.now - 5n);
  });
});

it('the lag grows while the destination takes nothing, for which the stream waits', async () => {
  await copied();
  destination.stalls = () => true;
  for (let changes = 0; changes < 100; changes += 1) change(0, 'replace');
  await until(() => (owner.sync?.stats().lag_seconds ?? 0) > 20);
  destination.stalls = () => false;
  await until(() => owner.sync?.stats().lag_seconds === 0);
});

it('an idle shard is advanced by whoever waits for it', async () => {
  await copied();
  // A document with a new shard key is re-read, at a time that the stream passes only with another entry.
  change(0, 'move', 2);
  await until(() => owner.sync?.stats().pendingRereads === 1);
  await until(() => owner.sync?.stats().pendingRereads === 0);
});

describe('nothing counts as drained', () => {
  let drained: boolean;

  function drain(time: bigint): void {
    drained = false;
    void owner.sync?.drain(time, () => false, new AbortController().signal).then(() => (drained = true));
  }

  it('before the stream has passed the commit time', async () => {
    await copied();
    const commit = source.now + 1000n;
    drain(commit);
    await moments(longMoments);
    expect(drained).toBe(false);
  });

  it('while a re-read is pending', async () => {
    await copied();
    destination.stalls = ({ kind }) => kind === 'update';
    change(0, 'move', 2);
    drain(source.now);
    notes(5);
    await moments(longMoments);
    expect([owner.sync?.stats().pendingRereads, drained]).toEqual([1, false]);
    destination.stalls = () => false;
    await until(() => drained);
  });

  it('while a partition is not copied', async () => {
    destination.stalls = () => true;
    begin();
    await until(() => destination.refusals > 0);
    drain(source.now);
    notes(5);
    await moments(longMoments);
    expect(drained).toBe(false);
    destination.stalls = () => false;
    await until(() => drained);
  });
});
