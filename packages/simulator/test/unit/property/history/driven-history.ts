import {
  type AnyBulkWriteOperation,
  type ClientSession,
  type Collection,
  type Document,
  MongoClient,
  MongoServerError,
  type Timestamp,
} from 'mongodb';
import { type Cluster, startWholeCluster } from '../../../../src/cluster/cluster.js';
import type { ReleaseSeries } from '../../../../src/node/server-version.js';
import { type Item, Model } from './model.js';
import type { Operation, Step, Write } from './operation.js';

const duplicateKey = 11_000;
const staleConfig = 13_388;

/** A time of the history and what was there then. */
interface Remembered {
  time: Timestamp;
  model: Model;
  /** Changes of the catalog at that time; snapshot reads do not reach behind a later one. */
  definitions: number;
}

/**
 * A cluster of three shards and two routers on which one history after another is played, each in a database of its
 * own.
 */
export class DrivenHistories implements AsyncDisposable {
  #count = 0;

  private constructor(
    readonly cluster: Cluster,
    readonly clients: readonly MongoClient[],
    readonly shards: readonly MongoClient[],
    /**
     * Before 6.0 writes of many documents change orphans too, with events: such events do not add up to the
     * documents.
     */
    readonly showsOrphans: boolean,
  ) {}

  static async start(version: ReleaseSeries): Promise<DrivenHistories> {
    const cluster = await startWholeCluster({ shards: 3, routers: 2, version, noopIntervalMs: 20, balancerRoundMs: 0 });
    const clients = await Promise.all(cluster.routers.map((host) => MongoClient.connect(`mongodb://${host}`)));
    const shards = await Promise.all(
      cluster.shards.map((host) => MongoClient.connect(`mongodb://${host}/?directConnection=true`)),
    );
    return new DrivenHistories(cluster, clients, shards, version < '6.0');
  }

  /**
   * Plays a history in a new database, on a collection sharded by `k`.
   * @param orphans true to have some moves of chunks leave documents behind
   */
  async play(steps: readonly Step[], key: Document = { k: 1 }, orphans = true): Promise<DrivenHistory> {
    this.#count += 1;
    const history = new DrivenHistory(this, `history${this.#count}`, key, orphans);
    await history.begin();
    for (const { router, operation } of steps) await history.perform(router, operation);
    return history;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.clients, ...this.shards].map((client) => client.close()));
    await this.cluster.close();
  }
}

/** One history on the cluster, and its model. */
export class DrivenHistory {
  readonly model = new Model();
  readonly remembered: Remembered[] = [];
  coll = 'c0';
  startTime: Timestamp | undefined;
  definitions = 0;
  #renames = 0;

  constructor(
    readonly driven: DrivenHistories,
    readonly db: string,
    private readonly key: Document,
    private readonly orphans: boolean,
  ) {}

  collection(router: number): Collection<Item> {
    return this.#client(router).db(this.db).collection<Item>(this.coll);
  }

  /** A time at which everything that was written so far is there. */
  async now(router: number): Promise<Timestamp> {
    return ((await this.#client(router).db(this.db).command({ ping: 1 })) as { operationTime: Timestamp })
      .operationTime;
  }

  async begin(): Promise<void> {
    await this.#admin(0, { enableSharding: this.db, primaryShard: 'shard0' });
    await this.#shard(0);
    this.startTime = await this.now(0);
  }

  async perform(router: number, operation: Operation): Promise<void> {
    switch (operation.kind) {
      case 'write':
        return this.#writeBesideOrphans(router, operation.write);
      case 'bulk':
        return this.#bulk(router, operation.writes, operation.ordered);
      case 'transaction':
        return this.#transaction(router, operation.writes, operation.commits);
      case 'split':
        return this.#tolerating(/boundary key/, () =>
          this.#admin(router, { split: this.#namespace, middle: this.#keyAt(operation.k) }),
        );
      case 'moveChunk': {
        const move = () =>
          this.#admin(router, {
            moveChunk: this.#namespace,
            find: this.#keyAt(operation.k),
            to: `shard${operation.shard}`,
            _waitForDelete: !this.orphans || operation.k % 2 === 0,
          });
        // An orphan of another chunk may have the `_id` of a document that comes: servers give up such a move.
        return this.orphans ? this.#tolerating(/migrate failed/, move) : move();
      }
      case 'remember':
        this.remembered.push({ time: await this.now(router), model: this.model.copy(), definitions: this.definitions });
        return undefined;
      default:
        this.definitions += 1;
        return this.#define(router, operation.kind);
    }
  }

  get #namespace(): string {
    return `${this.db}.${this.coll}`;
  }

  #client(router: number): MongoClient {
    const client = this.driven.clients[router];
    if (client === undefined) throw new Error(`no router ${router}`);
    return client;
  }

  async #admin(router: number, command: Document): Promise<void> {
    await this.#client(router).db('admin').command(command);
  }

  async #tolerating(message: RegExp, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      if (!(error instanceof MongoServerError && message.test(error.message))) throw error;
    }
  }

  async #shard(router: number): Promise<void> {
    await this.#admin(router, { shardCollection: this.#namespace, key: this.key });
  }

  /** A value of the shard key; of a compound one with some `_id`. */
  #keyAt(k: number): Document {
    return '_id' in this.key ? { k, _id: 5 } : { k };
  }

  /** An orphan on the shard where a document is to go has its `_id` there first: the server refuses the document. */
  async #writeBesideOrphans(router: number, write: Write): Promise<void> {
    try {
      await this.#write(router, write);
    } catch (error) {
      if (!(error instanceof MongoServerError && error.code === duplicateKey && (await this.#meetsOrphan(write))))
        throw error;
    }
  }

  /** True for a write that brings a document to a shard while one of the shards has an orphan of its `_id`. */
  async #meetsOrphan(write: Write): Promise<boolean> {
    if (!this.orphans || !('k' in write)) return false;
    const counts = await Promise.all(
      this.driven.shards.map((shard) =>
        shard.db(this.db).collection<Item>(this.coll).countDocuments({ _id: write.id }),
      ),
    );
    const owned = this.model.get(write.id) === undefined ? 0 : 1;
    return counts.reduce((sum, count) => sum + count, 0) > owned;
  }

  async #write(router: number, write: Write, session?: ClientSession): Promise<void> {
    if (!this.model.allows(write)) return;
    const run = () => execute(this.collection(router), write, this.model, session);
    // A router does not repeat an update that it has converted into a transaction: it refreshes, and the user repeats.
    await run().catch((error: unknown) => {
      if (session !== undefined || !isStaleConversion(error)) throw error;
      return run();
    });
    this.model.apply(write);
  }

  async #bulk(router: number, writes: readonly Write[], ordered: boolean): Promise<void> {
    const planned = this.model.copy();
    const operations: AnyBulkWriteOperation<Item>[] = [];
    for (const write of writes) {
      // Of unordered writes none may depend on another.
      const known = ordered ? planned : this.model;
      const alone =
        ordered ||
        !writes.some((other) => other !== write && (!('id' in other) || !('id' in write) || other.id === write.id));
      if (!alone || !known.allows(write) || (await this.#meetsOrphan(write))) continue;
      operations.push(bulkOperation(write, known));
      planned.apply(write);
    }
    if (operations.length === 0) return;
    await this.collection(router).bulkWrite(operations, { ordered });
    this.model.become(planned);
  }

  /** Stale routing ends a transaction, and the router knows better then: the user repeats it. */
  async #transaction(router: number, writes: readonly Write[], commits: boolean): Promise<void> {
    const before = this.model.copy();
    await using session = this.#client(router).startSession();
    for (let isOver = false; !isOver;) {
      try {
        session.startTransaction();
        for (const write of writes) if (!(await this.#meetsOrphan(write))) await this.#write(router, write, session);
        if (commits) await session.commitTransaction();
        else await session.abortTransaction();
        isOver = true;
      } catch (error) {
        const isStale = error instanceof MongoServerError && error.code === staleConfig;
        if (!isStale || !error.hasErrorLabel('TransientTransactionError')) throw error;
        await session.abortTransaction();
        this.model.become(before.copy());
      }
    }
    if (!commits) this.model.become(before);
  }

  async #define(
    router: number,
    kind: 'createIndex' | 'dropIndex' | 'collMod' | 'rename' | 'dropAndShardAgain',
  ): Promise<void> {
    const collection = this.collection(router);
    switch (kind) {
      case 'createIndex':
        await collection.createIndex({ v: 1 }, {}, {});
        return;
      case 'dropIndex':
        return this.#tolerating(/index not found/, async () => {
          await collection.dropIndex('v_1');
        });
      case 'collMod':
        await this.#client(router).db(this.db).command({ collMod: this.coll, validationLevel: 'moderate' });
        return;
      case 'rename':
        this.#renames += 1;
        await collection.rename(`c${this.#renames}`);
        this.coll = `c${this.#renames}`;
        return;
      case 'dropAndShardAgain':
        await collection.drop();
        this.model.clear();
        return this.#shard(router);
    }
  }
}

function isStaleConversion(error: unknown): boolean {
  return (
    error instanceof MongoServerError && error.code === staleConfig && error.message.includes('distributed transaction')
  );
}

/** Executes a write that the model allows. The shard key is given wherever the server asks for it. */
async function execute(
  collection: Collection<Item>,
  write: Write,
  model: Model,
  session?: ClientSession,
): Promise<void> {
  const options = session === undefined ? {} : { session };
  const key = 'id' in write ? { _id: write.id, k: model.get(write.id)?.k ?? 0 } : {};
  switch (write.kind) {
    case 'insert':
      await collection.insertOne({ _id: write.id, k: write.k, v: write.v }, options);
      return;
    case 'upsert':
      await collection.updateOne({ _id: write.id, k: write.k }, { $set: { v: write.v } }, { ...options, upsert: true });
      return;
    case 'set':
      await collection.updateOne({ _id: write.id }, { $set: { v: write.v } }, options);
      return;
    case 'unset':
      await collection.updateOne(key, { $unset: { v: '' } }, options);
      return;
    case 'replace':
      await collection.replaceOne(key, { k: model.get(write.id)?.k ?? 0, v: write.v }, options);
      return;
    case 'findAndModify':
      await collection.findOneAndUpdate(key, { $set: { v: write.v } }, options);
      return;
    case 'moveKey':
      await collection.updateOne(key, { $set: { k: write.k } }, options);
      return;
    case 'delete':
      await collection.deleteOne({ _id: write.id }, options);
      return;
    case 'findAndRemove':
      await collection.findOneAndDelete(key, options);
      return;
    case 'incrementMany':
      await collection.updateMany({ v: { $gte: write.above } }, { $inc: { n: 1 } }, options);
      return;
    case 'deleteMany':
      await collection.deleteMany({ v: { $gte: write.above } }, options);
  }
}

function bulkOperation(write: Write, model: Model): AnyBulkWriteOperation<Item> {
  const filter = 'id' in write ? { _id: write.id, k: model.get(write.id)?.k ?? 0 } : { v: { $gte: write.above } };
  switch (write.kind) {
    case 'insert':
      return { insertOne: { document: { _id: write.id, k: write.k, v: write.v } } };
    case 'upsert':
      return { updateOne: { filter: { _id: write.id, k: write.k }, update: { $set: { v: write.v } }, upsert: true } };
    case 'set':
      return { updateOne: { filter, update: { $set: { v: write.v } } } };
    case 'unset':
      return { updateOne: { filter, update: { $unset: { v: '' } } } };
    case 'replace':
      return { replaceOne: { filter, replacement: { k: model.get(write.id)?.k ?? 0, v: write.v } } };
    case 'delete':
      return { deleteOne: { filter } };
    case 'incrementMany':
      return { updateMany: { filter, update: { $inc: { n: 1 } } } };
    case 'deleteMany':
      return { deleteMany: { filter } };
    default:
      throw new Error(`${write.kind} has no place in a bulk`);
  }
}
