import { type Document, Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { timeOf } from '../../../../src/cluster/cluster-time.js';
import { ShardWaker } from '../../../../src/lifecycle/leader/ddl-leader.js';
import { fakeCluster, FakeNodeClient, serverError } from '../../fake-node-client.js';
import { never } from '../../model/parts.js';

const options = { signal: never };
let now: number;
let times: Map<string, number>;
let notes: number;
let isAllowed: boolean;
/** Called for a shard right before its note. */
let beforeNote: (id: string) => void;
/** The router's commands in place of notes. */
let lists: number;

beforeEach(() => {
  [now, notes, lists, isAllowed] = [1, 0, 0, true];
  beforeNote = () => undefined;
  times = new Map([
    ['shard0', 1],
    ['shard1', 1],
  ]);
});

const timestamp = (increment: number): Timestamp => new Timestamp({ t: 100, i: increment });
const time = (increment: number): bigint => timeOf(timestamp(increment));

/** Adds an event on a shard. */
function write(id: string): number {
  now += 1;
  times.set(id, now);
  return now;
}

function shardClient(id: string): FakeNodeClient {
  const answer = (): Document => ({ operationTime: timestamp(times.get(id) ?? 0) });
  const note = (): Document => {
    if (!isAllowed) throw serverError(13, 'Unauthorized');
    beforeNote(id);
    write(id);
    notes += 1;
    return answer();
  };
  return new FakeNodeClient(id, { ping: answer, appendOplogNote: note });
}

function waker(access: 'direct' | 'router' = 'direct'): ShardWaker {
  const list = (): Document => {
    lists += 1;
    return { databases: [], operationTime: timestamp(now) };
  };
  const router = new FakeNodeClient('router', {
    listDatabases: list,
    aggregate: () => ({ cursor: { firstBatch: [] } }),
  });
  const shards = new Map(['shard0', 'shard1'].map((id) => [id, shardClient(id)]));
  return new ShardWaker(fakeCluster({ router, ...(access === 'direct' ? { shards } : {}) }));
}

describe('idle shards', () => {
  it('are woken together when one of them has a change that the DDL watermark has not passed', async () => {
    const wakes = waker();
    const written = write('shard1');
    await wakes.wake(time(written), options);
    expect(notes).toBe(2);
  });

  it("are left alone while there is nothing but the waker's own notes", async () => {
    const wakes = waker();
    const written = write('shard1');
    await wakes.wake(time(written), options);
    // The stream is as far as the first note. It shows that all writes are below the notes once it has passed them all.
    await wakes.wake(time(written + 1), options);
    for (let turn = 0; turn < 3; turn += 1) await wakes.wake(time(written + 3), options);
    expect(notes).toBe(4);
  });

  it('are woken again for a write between the read and a note, above the note of another shard', async () => {
    beforeNote = (id) => {
      if (id === 'shard1') write(id);
    };
    const wakes = waker();
    const written = write('shard0');
    await wakes.wake(time(written), options);
    beforeNote = () => undefined;
    const [first, late] = [written + 1, written + 2];
    expect(times).toEqual(
      new Map([
        ['shard0', first],
        ['shard1', late + 1],
      ]),
    );
    await wakes.wake(time(first), options);
    expect(Math.min(...times.values())).toBeGreaterThan(late);
  });

  it('are woken again while the DDL watermark stays behind', async () => {
    const wakes = waker();
    const written = write('shard1');
    for (let turn = 0; turn < 3; turn += 1) await wakes.wake(time(written), options);
    expect(notes).toBe(6);
  });

  it('are woken by every later write', async () => {
    const wakes = waker();
    await wakes.wake(time(write('shard1')), options);
    await wakes.wake(time(now), options);
    expect(notes).toBe(4);
    const written = write('shard0');
    await wakes.wake(time(written), options);
    expect(notes).toBe(6);
    await wakes.wake(time(now), options);
    expect(notes).toBe(8);
    await wakes.wake(time(now), options);
    expect(notes).toBe(8);
  });

  it('are woken every time where they take no notes, or cannot be read directly', async () => {
    isAllowed = false;
    const unauthorized = waker();
    await unauthorized.wake(time(now), options);
    expect(lists).toBe(1);
    const routed = waker('router');
    await routed.wake(time(now + 1), options);
    await routed.wake(time(now + 1), options);
    expect(lists).toBe(3);
    expect(notes).toBe(0);
  });
});
