import { type Document, MaxKey, type Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { findValue } from '../../../src/bson/scan.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import type { RawBatch, RawWrite, WriteOutcome } from '../../../src/cluster/node-client.js';
import { CappedEnds } from '../../../src/copy/copy-capped.js';
import { CopyConcurrency, ReadRate } from '../../../src/copy/copy-pace.js';
import type { CopyDependencies } from '../../../src/copy/copier.js';
import { copyPartition } from '../../../src/copy/copy-partition.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import type { ChangeEvent } from '../../../src/store/change-event.js';
import type { Partition } from '../../../src/store/partition.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { isInRange } from '../id-range.js';
import { batchOf, serverError } from '../model/calls.js';
import { bytesOf, changeOf, collectionOf, never, once, rawOf, times } from '../model/parts.js';
import { routedStream } from '../model/routed-stream.js';
import { clientWith } from '../model/client-with.js';

let now_ms: number;
let documents: Uint8Array[];
let finds: Document[];
let failNext: Error[];
let writes: { kind: string; ids: unknown[]; durable: string }[];
let answers: (Partial<WriteOutcome> | Error)[];
let durable: string;
let log: string[];
let released: { event: bigint; states: string[] }[];
let stored: unknown[];
let table: PartitionTable;
let deps: CopyDependencies;

function stateOf({ state, closing, dirty }: Partition): string {
  return `${closing ? 'closing' : state}${dirty ? ' dirty' : ''}`;
}

function partition(index = 0): Partition {
  const found = table.partitions[index];
  if (found === undefined) throw new Error('no such partition');
  return found;
}

function find(command: Document): Uint8Array[] {
  finds.push(command);
  return documents.filter((document) => isInRange(findValue(document, '_id') ?? rawOf(null), command));
}

/** Every batch takes a second; `failNext` has the failures of the next ones. */
function openCursor(_database: string, command: Document) {
  const rest = find(command);
  const { atClusterTime } = command.readConcern as { atClusterTime: Timestamp };
  const take = (): RawBatch => {
    now_ms += 1000;
    return batchOf(rest.splice(0, 2), { atClusterTime, operationTime: timestampOf(99n) });
  };
  const next = (): Promise<RawBatch> => {
    const failure = failNext.shift();
    return failure === undefined ? Promise.resolve(take()) : Promise.reject(failure);
  };
  return Promise.resolve({
    first: take(),
    get open() {
      return rest.length > 0;
    },
    next,
    close: () => Promise.resolve(),
  });
}

function write({ kind, statements }: RawWrite): Promise<WriteOutcome> {
  const ids = statements.map((statement) =>
    kind === 'insert'
      ? findValue(statement, '_id')?.bytes[0]
      : findValue(findValue(statement, 'q')?.bytes ?? statement, '_id')?.bytes[0],
  );
  writes.push({ kind, ids, durable });
  log.push('write');
  const answer = answers.shift() ?? {};
  if (answer instanceof Error) return Promise.reject(answer);
  return Promise.resolve({ n: statements.length, nModified: 0, upserted: 0, failures: [], ...answer });
}

function prepare(collection: SyncedCollection = collectionOf()): void {
  const save = (_collection: SyncedCollection, _partitions: Document[]): Promise<void> => {
    durable = table.partitions.map(stateOf).join(', ');
    log.push(`save ${durable}`);
    return Promise.resolve();
  };
  table = PartitionTable.fresh(collection, [], save);
}

beforeEach(() => {
  [now_ms, durable] = [0, ''];
  [finds, failNext, writes, answers, log, released, stored] = [[], [], [], [], [], [], []];
  documents = [1, 2, 3, 4, 5, 6].map((_id) => bytesOf({ _id, sk: 1 }));
  prepare();
  const clock = { now_ms: () => now_ms, monotonic_ms: () => now_ms, random: () => 0, sleep: () => Promise.resolve() };
  const upsert = (keys: Document[]): Promise<void> => {
    stored.push(...keys.map(({ reason }) => reason as unknown));
    log.push('rereads');
    return Promise.resolve();
  };
  deps = {
    shard: clientWith({ label: 'shard', openCursor }),
    writer: { write },
    rereads: new RereadSet({ upsert, remove: () => Promise.resolve() }, new ByteBudget(1000)),
    retrying: times(2),
    clock,
    budget: new ByteBudget(1_000_000),
    rate: new ReadRate(clock, null),
    stream: routedStream({
      position: 20n,
      untilRouted: (time) => Promise.resolve(void log.push(`routed ${time}`)),
      untilFlushed: (time) => Promise.resolve(void log.push(`flushed ${time}`)),
      release: (_table, events) =>
        void released.push(...events.map(({ time }) => ({ event: time, states: table.partitions.map(stateOf) }))),
    }),
    cappedEnds: new CappedEnds(new ByteBudget(1000), routedStream()),
    restarts: { recreate: () => Promise.resolve(), startsInIdOrder: () => Promise.resolve([]) },
    partition_seconds: 100,
    readers: 1,
    concurrency: new CopyConcurrency(clock, { readers: 1, writers: 2 }),
  };
});

function copy(): Promise<void> {
  return copyPartition({ table, partition: partition(), deps, stop: never, hard: never });
}

function timesRead(): bigint[] {
  return finds.map((command) => (command.readConcern as { atClusterTime: Timestamp }).atClusterTime.toBigInt());
}

describe('the read time of a partition', () => {
  it.each([
    ['the routed position', () => undefined, 20n],
    ['every dropped event of the range', () => partition().raiseDropped(25n), 25n],
    [
      'every earlier read of the range',
      () => {
        partition().start(30n);
        partition().abandon();
      },
      30n,
    ],
  ])('is at least %s, and the stream is routed up to it before the read', async (_what, prepared, expected) => {
    prepared();
    await copy();
    expect(new Set(timesRead())).toEqual(new Set([expected]));
    expect(log[0]).toBe(`routed ${expected}`);
  });

  it('stays the same when a lost cursor is reopened after the last document', async () => {
    failNext = [serverError(43)];
    await copy();
    // The second find continues, and the third one looks for MaxKey.
    expect(timesRead()).toEqual([20n, 20n, 20n]);
    expect(writes.flatMap(({ ids }) => ids)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('is chosen again when it is too old, and the next attempt replaces the documents of the first', async () => {
    deps.retrying = once;
    const { stream } = deps;
    deps.stream = {
      ...stream,
      get position() {
        return BigInt(20 + finds.length);
      },
    };
    failNext = [serverError(239)];
    await copy();
    expect(timesRead()).toEqual([20n, 21n]);
    expect(writes.map(({ kind }) => kind)).toEqual(['insert', 'update', 'update', 'update']);
    expect(log).toContain('flushed 21');
  });
});

describe('a partition', () => {
  it('is durably dirty before its first write, and done and clean only once all writes are acknowledged', async () => {
    await copy();
    expect(writes.every((one) => one.durable === 'copying dirty')).toBe(true);
    expect(log.at(-1)).toBe('save closing dirty');
    expect(partition()).toMatchObject({ state: 'done', dirty: false, closing: false, readEnd: 99n, documents: 6 });
  });

  it('that is dirty waits for the deletes of its earlier attempt, and upserts', async () => {
    partition().markDirty();
    await copy();
    expect(log.slice(0, 3)).toEqual(['routed 20', 'flushed 20', 'save copying dirty']);
    expect(writes.every(({ kind }) => kind === 'update')).toBe(true);
  });

  it('is done only once its re-read requests are durable', async () => {
    answers = [{ n: 1, failures: [{ index: 0, code: 11000, message: '' }] }];
    await copy();
    expect(stored).toEqual(['duplicateKey']);
    expect(log.indexOf('rereads')).toBeLessThan(log.indexOf('save closing dirty'));
  });

  it('skips documents that its shard does not own', async () => {
    prepare(collectionOf({ owns: (document) => findValue(document, '_id')?.bytes[0] !== 3 }));
    await copy();
    expect(writes.flatMap(({ ids }) => ids).sort()).toEqual([1, 2, 4, 5, 6]);
  });

  it('releases its buffered events once it is done', async () => {
    const buffered: ChangeEvent = changeOf(1, 25n, { operation: 'delete' });
    const persist = table.persist.bind(table);
    let saves = 0;
    table.persist = () => {
      saves += 1;
      if (saves === 1) partition().buffer(buffered);
      return persist();
    };
    await copy();
    expect(released).toEqual([{ event: 25n, states: ['done'] }]);
  });

  it('does not release its buffered events when the outcome of its closing write is unknown', async () => {
    const persist = table.persist.bind(table);
    let saves = 0;
    table.persist = () => {
      saves += 1;
      if (saves === 1) partition().buffer(changeOf(1, 25n, { operation: 'delete' }));
      return saves === 2 ? Promise.reject(new Error('unknown')) : persist();
    };
    await expect(copy()).rejects.toThrow('unknown');
    expect(released).toEqual([]);
    expect(partition().state).toBe('copying');
  });

  it('waits dirty after a write that no repetition mends', async () => {
    answers = [{ n: 0, failures: [{ index: 0, code: 121, message: '' }] }];
    await expect(copy()).rejects.toMatchObject({ error: 'writeRefused' });
    expect(partition()).toMatchObject({ state: 'waiting', dirty: true });
  });
});

describe('a partition that exceeds partition_seconds', () => {
  beforeEach(() => {
    deps.partition_seconds = 1.5;
  });

  it('closes once its documents are acknowledged; the same write stores its rest', async () => {
    await copy();
    expect(writes.flatMap(({ ids }) => ids)).toEqual([1, 2]);
    expect(log.at(-1)).toBe('save closing dirty, waiting');
    expect(table.partitions.map(({ state, dirty }) => [state, dirty])).toEqual([
      ['done', false],
      ['waiting', false],
    ]);
    expect(partition(1).lower).toEqual(rawOf(3));
    expect(partition(1).readTime).toBe(20n);
  });

  it('is not split at MaxKey, where its last range ends', async () => {
    documents = [1, 2, new MaxKey()].map((_id) => bytesOf({ _id, sk: 1 }));
    await copy();
    expect(writes.flatMap(({ ids }) => ids)).toHaveLength(3);
    expect(table.partitions).toHaveLength(1);
  });

  it('leaves its rest dirty when it was dirty before', async () => {
    partition().markDirty();
    await copy();
    expect(partition(1)).toMatchObject({ state: 'waiting', dirty: true });
  });

  it('releases the buffered events of its rest before a reader can start it', async () => {
    const splitAt = table.splitAt.bind(table);
    table.splitAt = (...parts) => {
      partition().buffer(changeOf(5, 25n, { operation: 'delete' }));
      return splitAt(...parts);
    };
    await copy();
    expect(released[0]).toEqual({ event: 25n, states: ['copying dirty', 'waiting'] });
  });
});
