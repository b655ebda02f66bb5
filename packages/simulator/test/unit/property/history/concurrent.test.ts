import fc from 'fast-check';
import { type ClientSession, type Collection, type MongoClient, MongoServerError } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runs } from '../runs.js';
import { applied } from './applied-events.js';
import { readStream } from './change-stream.js';
import { DrivenHistories } from './driven-history.js';
import type { Item } from './model.js';
import { histories, type Operation, type Write } from './operation.js';

/** What may happen to one of several clients at once. */
const expectedCodes: readonly unknown[] = [
  11000, // a duplicate key
  112, // a write conflict
  251, // a transaction that another client aborted
  117, // a chunk on its way
  96, // a chunk with an _id that its new shard has
  13388, // stale routing, met by an update that was converted into a transaction
];
/** The driver's own limits on how long it begins again would hide a stuck transaction. */
const attemptsMax = 20;

const workersMax = 4;
/** A history that takes longer has a lock that nobody releases. */
const stuckMs = 30_000;

describe.each(['5.0', '8.0'] as const)('several clients at once on %s', (version) => {
  let driven: DrivenHistories;
  beforeAll(async () => {
    driven = await DrivenHistories.start(version);
    // Where moves wait as long as a stuck history takes, none ends because the others' transactions take their time.
    await Promise.all(
      driven.shards.map((shard) =>
        shard.db('admin').command({ setParameter: 1, migrationLockAcquisitionMaxWaitMS: stuckMs }),
      ),
    );
  });
  afterAll(() => driven[Symbol.asyncDispose]());

  it('leave what the change stream shows, in whatever order their writes came', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(histories, { minLength: 2, maxLength: workersMax }), async (workers) => {
        const history = await driven.play([]);
        await Promise.all(
          workers.map(async (steps) => {
            for (const { router, operation } of steps)
              await perform(driven.clients[router], history.db, operation, !driven.showsOrphans);
          }),
        );
        const [client] = driven.clients;
        if (client === undefined) throw new Error('no router');
        const events = await readStream(
          client,
          history.db,
          { startAtOperationTime: history.startTime },
          await history.now(0),
          5,
        );
        const found = await history.collection(1).find().toArray();
        expect(inOrder(applied(events).get(history.coll) ?? [])).toEqual(inOrder(found));
      }),
      // What happens at once does not happen twice in the same order: looking for a smaller case would find another
      // one.
      { ...runs(8, 100), endOnFailure: true, timeout: 4 * stuckMs },
    );
  });
});

/**
 * @param moves false where streams also show what happens to orphans: one that another client hits before its
 * clean-up cannot be told from a live document
 */
async function perform(
  client: MongoClient | undefined,
  db: string,
  operation: Operation,
  moves: boolean,
): Promise<void> {
  if (client === undefined) throw new Error('no router');
  const collection = client.db(db).collection<Item>('c0');
  switch (operation.kind) {
    case 'write':
      return tolerating(() => write(collection, operation.write));
    case 'transaction':
      return transaction(client, collection, operation.writes, operation.commits);
    case 'split':
      return tolerating(
        () => client.db('admin').command({ split: collection.namespace, middle: { k: operation.k } }),
        /boundary key/,
      );
    case 'moveChunk':
      if (!moves) return undefined;
      return tolerating(() =>
        client
          .db('admin')
          .command({ moveChunk: collection.namespace, find: { k: operation.k }, to: `shard${operation.shard}` }),
      );
    default:
      return undefined;
  }
}

async function tolerating(action: () => Promise<unknown>, message?: RegExp): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
    if (!expectedCodes.includes(error.code) && message?.test(error.message) !== true) throw error;
  }
}

/** Begins again as long as the server says that it may help. */
async function transaction(
  client: MongoClient,
  collection: Collection<Item>,
  writes: readonly Write[],
  commits: boolean,
): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const session = client.startSession();
    try {
      session.startTransaction();
      for (const each of writes) await write(collection, each, session);
      if (commits) await session.commitTransaction();
      else await session.abortTransaction();
      return;
    } catch (error) {
      if (!(error instanceof MongoServerError)) throw error;
      if (error.code === 11000) return;
      if (!error.hasErrorLabel('TransientTransactionError')) throw error;
    } finally {
      await session.endSession();
    }
  }
}

async function write(collection: Collection<Item>, each: Write, session?: ClientSession): Promise<void> {
  const options = session === undefined ? {} : { session };
  if (!('id' in each)) {
    if (each.kind === 'deleteMany') await collection.deleteMany({ v: { $gte: each.above } }, options);
    else await collection.updateMany({ v: { $gte: each.above } }, { $inc: { n: 1 } }, options);
    return;
  }
  const present = await collection.findOne({ _id: each.id }, options);
  const key = { _id: each.id, k: present?.k ?? each.id };
  switch (each.kind) {
    case 'insert':
      await collection.insertOne({ _id: each.id, k: each.k, v: each.v }, options);
      return;
    case 'upsert':
      await collection.updateOne({ _id: each.id, k: each.k }, { $set: { v: each.v } }, { ...options, upsert: true });
      return;
    case 'replace':
      await collection.replaceOne(key, { k: key.k, v: each.v }, options);
      return;
    case 'moveKey':
      await collection.updateOne(key, { $set: { k: each.k } }, options);
      return;
    case 'unset':
      await collection.updateOne(key, { $unset: { v: '' } }, options);
      return;
    case 'delete':
    case 'findAndRemove':
      await collection.findOneAndDelete(key, options);
      return;
    default:
      await collection.findOneAndUpdate(key, { $set: { v: each.v } }, options);
  }
}

function inOrder(items: readonly Item[]): Item[] {
  return [...items].sort((a, b) => a._id - b._id || a.k - b.k);
}
