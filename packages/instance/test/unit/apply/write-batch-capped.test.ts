import { BSON, type Document } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { sendBatch } from '../../../src/apply/send-batch.js';
import { EventQueue } from '../../../src/apply/apply-workers.js';
import { composeBatch, HotDocuments, type RoutedEvent } from '../../../src/apply/write-batch.js';
import { findValue, type RawValue } from '../../../src/bson/scan.js';
import type { NodeClient, RawWrite, WriteFailure, WriteOutcome } from '../../../src/cluster/node-client.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import { FencedWriter } from '../../../src/store/fenced-writer.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import { SessionFence } from '../../../src/store/fence.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { once } from '../model/parts.js';

const { signal } = new AbortController();
const collection: SyncedCollection = {
  uuid: '00'.repeat(16),
  database: 'db',
  name: 'log',
  destination: { database: 'db', name: 'log' },
  capped: true,
  collated: false,
  readBy: 'uuid',
  notBefore: 0n,
  showsOrphans: false,
  sourceKey: [],
  destinationKey: [],
  owns: () => true,
};

/** A small capped collection of a server that allows deletes (5.0.7) or refuses them (5.0.6). */
class CappedClient implements NodeClient {
  readonly label = 'destination';
  readonly writes: RawWrite['kind'][] = [];

  constructor(
    readonly ids: number[],
    private readonly documentsMax: number,
    private readonly deletes: boolean,
  ) {}

  write(write: RawWrite): Promise<WriteOutcome> {
    this.writes.push(write.kind);
    const failures = write.statements.flatMap((bytes, index) =>
      this.carryOut(write.kind, BSON.deserialize(bytes), index),
    );
    const n = write.kind === 'update' ? this.matched(write.statements) : write.statements.length - failures.length;
    return Promise.resolve({ n, nModified: 0, upserted: 0, failures });
  }

  command = (): Promise<never> => Promise.reject(new Error('no command is expected'));
  openCursor = (): Promise<never> => Promise.reject(new Error('no cursor is expected'));
  close = (): Promise<void> => Promise.resolve();

  /** Expects only updates that probe for documents. */
  private matched(statements: readonly Uint8Array[]): number {
    return statements.filter((bytes) => this.ids.includes(idOfFilter(BSON.deserialize(bytes)))).length;
  }

  private carryOut(kind: RawWrite['kind'], statement: Document, index: number): WriteFailure[] {
    if (kind === 'update') return [];
    if (kind === 'insert') {
      this.ids.push(statement['_id'] as number);
      if (this.ids.length > this.documentsMax) this.ids.shift();
      return [];
    }
    if (!this.deletes) return [{ index, code: 20, message: 'cannot remove from a capped collection' }];
    const at = this.ids.indexOf(idOfFilter(statement));
    if (at >= 0) this.ids.splice(at, 1);
    return [];
  }
}

function idOfFilter(statement: Document): number {
  return (statement['q'] as { _id: number })._id;
}

function routed(operation: 'insert' | 'delete', id: number, time: number): RoutedEvent {
  const document = BSON.serialize({ _id: id });
  return {
    collection,
    workerClass: String(id),
    bounds: { watermark: 0n, readEnd: null },
    purpose: 'apply',
    event: {
      operation,
      time: BigInt(time),
      uuid: collection.uuid,
      id: idOf(document),
      documentKey: document,
      fullDocument: operation === 'insert' ? document : null,
      updateDescription: null,
      inTransaction: false,
      bytes: document.length,
    },
  };
}

function idOf(document: Uint8Array): RawValue {
  const id = findValue(document, '_id');
  if (id === null) throw new Error('a document has an _id');
  return id;
}

/** Applies events batch by batch as a worker does. @returns the number of batches */
async function apply(client: NodeClient, events: readonly RoutedEvent[]): Promise<number> {
  const queue = new EventQueue();
  for (const event of events) queue.push(event);
  const budget = new ByteBudget(1024 * 1024);
  const rereads = new RereadSet({ upsert: () => Promise.resolve(), remove: () => Promise.resolve() }, budget);
  const writer = new FencedWriter(
    client,
    once,
    [new Uint8Array(16)],
    1,
    () => Promise.resolve(),
    new SessionFence({ router: client, shardIds: [] }, once),
  );
  let batches = 0;
  for (; queue.length > 0; batches += 1) {
    expect(
      await sendBatch(
        composeBatch(queue, { rereads, budget, hot: new HotDocuments({ monotonic_ms: () => 0 }) }),
        { writer, findPresent: () => Promise.resolve(null) },
        signal,
      ),
    ).toEqual([]);
  }
  return batches;
}

/** The stream of a full collection from 5.0: every insert with the delete of the oldest document. */
function overflow(first: number, count: number, documentsMax: number): RoutedEvent[] {
  return Array.from({ length: count }, (_, step) => [
    routed('insert', first + step, 10 + 2 * step),
    routed('delete', first + step - documentsMax, 11 + 2 * step),
  ]).flat();
}

describe.each([
  ['a destination that deletes from capped collections', true],
  ['a destination that deletes nothing from capped collections', false],
])('%s', (_name, deletes) => {
  test('applies the inserts of a full collection and their deletes in one batch', async () => {
    const client = new CappedClient([1, 2, 3, 4], 4, deletes);
    expect(await apply(client, overflow(5, 3, 4))).toBe(1);
    expect(client.ids).toEqual([4, 5, 6, 7]);
  });

  test('stays exact when a batch is longer than the collection', async () => {
    const client = new CappedClient([1, 2, 3, 4], 4, deletes);
    await apply(client, overflow(5, 30, 4));
    expect(client.ids).toEqual([31, 32, 33, 34]);
  });
});

test('a delete by a user makes room, so that no other document is dropped', async () => {
  const client = new CappedClient([1, 2, 3, 4], 4, true);
  await apply(client, [routed('delete', 3, 10), routed('insert', 5, 11)]);
  expect(client.ids).toEqual([1, 2, 4, 5]);
});

test('a delete by a user that the destination refuses fails by name', async () => {
  const client = new CappedClient([1, 2, 3], 4, false);
  await expect(apply(client, [routed('delete', 2, 10)])).rejects.toMatchObject({ error: 'writeRefused' });
});
