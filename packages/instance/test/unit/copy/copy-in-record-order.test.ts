import { type Document, Long, ObjectId, Timestamp } from 'mongodb';
import { beforeEach, expect, test } from 'vitest';
import type { RawBatch, RawCursor, RawWrite } from '../../../src/cluster/node-client.js';
import type { CopyDependencies } from '../../../src/copy/copier.js';
import { copyInRecordOrder } from '../../../src/copy/copy-in-record-order.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import type { Partition } from '../../../src/store/partition.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { serverError } from '../fake-node-client.js';
import { clientWith } from '../model/client-with.js';
import { bytesOf, collectionOf, never, rawOf } from '../model/parts.js';
import { routedStream } from '../model/routed-stream.js';
import { copyDeps, stillClock } from './copy-fixture.js';

/** A shard's primary with two documents in each batch. Their `_id`s fall as their records rise. */
class RecordShard {
  term = 1;
  records = [1, 2, 3, 4, 5, 6];
  /** The record after which each cursor was opened, and its time; 0: the first record. */
  readonly opened: [after: number, time: number][] = [];
  /** Called before each `hello` and find. */
  before: (command: Document) => void = () => undefined;

  readonly client = clientWith({
    label: 'shard',
    command: (_database: string, command: Document) => {
      this.before(command);
      return Promise.resolve({ electionId: new ObjectId(String(this.term).padStart(24, '0')) });
    },
    openCursor: (_database: string, command: Document) => Promise.resolve().then(() => this.#open(command)),
  });

  #open(command: Document): RawCursor {
    this.before(command);
    expect(command).toMatchObject({ hint: { $natural: 1 }, $_requestResumeToken: true });
    const token = command.$_resumeAfter as { $recordId: Long } | undefined;
    const after = token?.$recordId.toNumber() ?? 0;
    const at = (command.readConcern as Document).atClusterTime as Timestamp;
    this.opened.push([after, at.i]);
    if (after > 0 && !this.records.includes(after)) throw serverError(211, 'the record is gone');
    const left = this.records.filter((record) => record > after);
    const take = (): RawBatch => {
      const batch = left.splice(0, 2);
      const documents = batch.map((record) => bytesOf({ _id: 10 - record, sk: record }));
      const last = batch.at(-1);
      const position = last === undefined ? {} : { recordToken: { $recordId: Long.fromNumber(last) } };
      return { documents, bytes: 100, atClusterTime: at, operationTime: at, ...position };
    };
    return {
      first: take(),
      get open() {
        return left.length > 0;
      },
      next: () => Promise.resolve().then(take),
      close: () => Promise.resolve(),
    };
  }
}

let shard: RecordShard;
let position: bigint;
let deps: CopyDependencies;
let table: PartitionTable;
/** What happens, in order. */
let log: string[];
let rereads: RereadSet;
let onSave: (partitions: Document[]) => void;

function prepare(changes: Partial<SyncedCollection> = {}): Partition {
  const save = (_collection: SyncedCollection, partitions: Document[]): Promise<void> => {
    onSave(partitions);
    return Promise.resolve(void log.push(`save ${partitions.map(({ state }) => String(state)).join()}`));
  };
  table = PartitionTable.fresh(collectionOf(changes), [], save, undefined, { order: 'natural', reason: 'requested' });
  const [partition] = table.partitions;
  if (partition === undefined) throw new Error('a table has a partition');
  return partition;
}

beforeEach(() => {
  [shard, position, log] = [new RecordShard(), 20n, []];
  onSave = () => undefined;
  const storage = { upsert: () => Promise.resolve(), remove: () => Promise.resolve() };
  rereads = new RereadSet(storage, new ByteBudget(1_000), 2);
  const write = ({ kind, statements }: RawWrite) => {
    log.push(`${kind} ${statements.length}`);
    return Promise.resolve({ n: statements.length, nModified: 0, upserted: 0, failures: [] });
  };
  deps = copyDeps({
    shard: shard.client,
    write,
    rereads,
    // Every batch is a piece.
    partition_seconds: 0,
    clock: stillClock,
    stream: {
      ...routedStream({ untilFlushed: (time) => Promise.resolve(void log.push(`flushed ${time}`)) }),
      get position() {
        position += 1n;
        return position;
      },
    },
    restarts: {
      recreate: () => Promise.resolve(),
      startsInIdOrder: () => Promise.resolve([rawOf(3), rawOf(6)]),
    },
  });
});

const copy = (partition: Partition): Promise<void> =>
  copyInRecordOrder({ table, partition, deps, stop: never, hard: never });
const writes = (): string[] => log.filter((each) => !each.startsWith('save') && !each.startsWith('flushed'));

test('each piece is read at its own time, after the last record of the one before', async () => {
  const partition = prepare();
  await copy(partition);
  expect(shard.opened.map(([after]) => after)).toEqual([0, 2, 4, 6]);
  const times = shard.opened.map(([, time]) => time);
  expect(new Set(times).size).toBe(4);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  expect([partition.state, partition.readTime, partition.documents]).toEqual(['done', BigInt(times.at(-1) ?? 0), 6]);
  expect(writes()).toEqual(['insert 2', 'insert 2', 'insert 2']);
});

test('a partition is done only after every event up to its last reading is durable', async () => {
  const partition = prepare();
  await copy(partition);
  expect(log.slice(-2)).toEqual([`flushed ${partition.readTime}`, 'save done']);
});

test('another primary has other records: the scan begins again and replaces what it finds', async () => {
  const partition = prepare();
  shard.before = () => {
    if (shard.opened.length === 2) shard.term = 2;
  };
  await copy(partition);
  expect(shard.opened.map(([after]) => after)).toEqual([0, 2, 0, 2, 4, 6]);
  expect(writes().slice(-3)).toEqual(['update 2', 'update 2', 'update 2']);
  expect(partition.state).toBe('done');
});

test('an election between the look at the primary and the opening of the cursor is noticed', async () => {
  const partition = prepare();
  shard.before = ({ find }) => {
    if (find !== undefined && shard.opened.length === 1) shard.term = 2;
  };
  await copy(partition);
  expect(shard.opened.map(([after]) => after)).toEqual([0, 2, 0, 2, 4, 6]);
  expect(writes()).toEqual(['insert 2', 'update 2', 'update 2', 'update 2']);
});

test('a place that another member has given is not taken: the next piece is tried again', async () => {
  const partition = prepare();
  let refusals = 0;
  shard.before = ({ find, $_resumeAfter: after }) => {
    if (find === undefined || after === undefined || refusals > 0) return;
    refusals += 1;
    shard.term = 2;
    throw serverError(8_132_701, '$initialSyncId mismatch, the query is no longer resumable.');
  };
  await copy(partition);
  expect(refusals).toBe(1);
  expect(shard.opened.map(([after]) => after)).toEqual([0, 0, 2, 4, 6]);
  expect(partition.state).toBe('done');
});

test('when the last record is deleted, the next piece begins after an earlier one and replaces', async () => {
  const partition = prepare();
  shard.before = ({ find }) => {
    if (find !== undefined && shard.opened.length === 2) shard.records = [1, 2, 3, 5, 6];
  };
  await copy(partition);
  expect(shard.opened.map(([after]) => after)).toEqual([0, 2, 4, 2, 5, 6]);
  expect(writes().slice(2)).toEqual(['update 2', 'update 1']);
});

test('positions that are lost again and again lead to a copy in _id order', async () => {
  const partition = prepare();
  shard.before = ({ hello }) => {
    if (hello !== undefined && shard.opened.at(-1)?.[0] === 2) shard.term += 1;
  };
  await copy(partition);
  expect(table.order).toEqual({ order: '_id', reason: 'positionsLost' });
});

test('when too many documents change, they are copied again in _id order, from several places', async () => {
  const partition = prepare();
  shard.before = ({ find }) => {
    if (find === undefined || shard.opened.length !== 1) return;
    const collection = table.collection;
    void rereads.add([1, 2].map((id) => ({ collection, id: rawOf(id), reason: 'recordOrder', time: 20n })));
  };
  await copy(partition);
  expect(table.order).toEqual({ order: '_id', reason: 'changes' });
  expect(table.partitions.map(({ state, dirty, scan }) => ({ state, dirty, scan }))).toEqual(
    [1, 2, 3].map(() => ({ state: 'waiting', dirty: true, scan: null })),
  );
  expect(table.partitions[1]?.lower).toEqual(rawOf(3));
});

test('when too many documents change while the copy waits for the stream, it is left too', async () => {
  const partition = prepare();
  const { collection } = table;
  let near: (signal: AbortSignal) => Promise<void> = async (signal) => {
    near = () => Promise.resolve();
    await rereads.add([1, 2].map((id) => ({ collection, id: rawOf(id), reason: 'recordOrder', time: 20n })));
    await new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
      if (signal.aborted) reject(signal.reason as Error);
    });
  };
  deps = { ...deps, stream: routedStream({ untilNear: (signal) => near(signal) }) };
  await copy(partition);
  expect(table.order).toEqual({ order: '_id', reason: 'changes' });
});

test('record order is left only once that is stored: until then events cause re-reads', async () => {
  const partition = prepare();
  const left: [dirty: unknown, scans: boolean][] = [];
  onSave = ([whole]) => {
    if (whole !== undefined && !('scan' in whole)) left.push([whole.dirty, partition.scan !== null]);
  };
  shard.before = ({ find }) => {
    if (find !== undefined) throw serverError(9, 'FailedToParse');
  };
  await copy(partition);
  expect(left).toEqual([
    [true, true],
    [true, false],
  ]);
});

test('a server that takes no such read is read in _id order', async () => {
  const partition = prepare();
  shard.before = ({ find }) => {
    if (find !== undefined) throw serverError(40_415, 'an unknown field');
  };
  await copy(partition);
  expect(table.order).toEqual({ order: '_id', reason: 'refused' });
  expect(partition.scan).toBeNull();
});

test('documents that the shard does not own are left out', async () => {
  const partition = prepare({
    owns: (document) => document.length > 0 && !Buffer.from(document).equals(bytesOf({ _id: 8, sk: 2 })),
  });
  await copy(partition);
  expect(partition.documents).toBe(5);
});

test('the scan continues where it was stored; documents beyond are replaced', async () => {
  const partition = prepare();
  let saved: Document[] = [];
  table = new PartitionTable(
    table.collection,
    [partition],
    (_collection, partitions) => Promise.resolve(void (saved = partitions)),
    { order: 'natural', reason: 'requested' },
  );
  const { writer } = deps;
  const crash = new Error('crash');
  deps.writer = {
    write: (one, signal) => (log.length === 2 ? Promise.reject(crash) : writer.write(one, signal)),
  };
  await expect(copy(partition)).rejects.toBe(crash);
  deps.writer = writer;
  table = PartitionTable.restored(table.collection, saved, () => Promise.resolve());
  const [restored] = table.partitions;
  if (restored === undefined) throw new Error('a table has a partition');
  const { state, dirty, documents, readTime, scan } = restored;
  expect([state, dirty, documents, readTime]).toEqual(['waiting', true, 4, partition.readTime]);
  expect(table.order).toEqual({ order: 'natural', reason: 'requested' });
  expect(scan?.from).toBe(BigInt(shard.opened[0]?.[1] ?? 0));
  await copy(restored);
  expect(shard.opened.at(3)?.[0]).toBe(4);
  expect([restored.documents, writes()]).toEqual([6, ['insert 2', 'insert 2', 'update 2']]);
});
