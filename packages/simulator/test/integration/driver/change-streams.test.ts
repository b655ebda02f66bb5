import type { ChangeStreamInsertDocument, CommandStartedEvent, Document, MongoClient } from 'mongodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DrivenCluster, failCommand } from './driven-cluster.js';

interface Item {
  _id: number;
  k: number;
  v?: number;
}

describe('change streams of the official driver', () => {
  let driven: DrivenCluster;
  let client: MongoClient;
  const sent: CommandStartedEvent[] = [];

  beforeAll(async () => {
    driven = await DrivenCluster.start({ version: '6.0', routers: 2 });
    client = await driven.connect({ monitorCommands: true });
    client.on('commandStarted', (event) => sent.push(event));
    await driven.shard(client, 'streams', 'c');
  });
  beforeEach(async () => {
    await collection().deleteMany({});
    sent.length = 0;
  });
  afterAll(() => driven[Symbol.asyncDispose]());

  const collection = () => client.db('streams').collection<Item>('c');
  const opened = () =>
    sent
      .filter(({ commandName }) => commandName === 'aggregate')
      .map(({ command }) => (command['pipeline'] as Document[])[0]?.['$changeStream'] as Document);

  async function inserted(stream: { next(): Promise<Document> }, count: number): Promise<number[]> {
    const ids: number[] = [];
    while (ids.length < count) ids.push(((await stream.next()) as ChangeStreamInsertDocument<Item>).fullDocument._id);
    return ids;
  }

  it.each([
    ['a resumable error', { errorCode: 43, errorLabels: ['ResumableChangeStreamError'] }],
    ['a closed connection', { closeConnection: true }],
    ['a node that steps down', { errorCode: 10107, errorLabels: ['ResumableChangeStreamError'] }],
  ])('go on by themselves after %s at a getMore', async (_, data) => {
    const stream = collection().watch([], { maxAwaitTimeMS: 100 });
    await stream.tryNext();
    await collection().insertMany([
      { _id: 1, k: -1 },
      { _id: 2, k: 1 },
    ]);
    expect(await inserted(stream, 1)).toEqual([1]);
    // The rest of the batch is in the client already, so the next insert is what a new getMore has to bring.
    expect(await inserted(stream, 1)).toEqual([2]);
    await failCommand(client, { times: 1 }, { failCommands: ['getMore'], ...data });
    await collection().insertOne({ _id: 3, k: -3 });
    expect(await inserted(stream, 1)).toEqual([3]);
    expect(opened()).toEqual([{}, { resumeAfter: expect.anything() as unknown }]);
    await stream.close();
  });

  it('end with an error that cannot be resumed from', async () => {
    const stream = collection().watch([], { maxAwaitTimeMS: 100 });
    await stream.tryNext();
    await failCommand(client, { times: 1 }, { failCommands: ['getMore'], errorCode: 286 });
    await expect(stream.next()).rejects.toMatchObject({ code: 286 });
    expect(opened()).toHaveLength(1);
  });

  it('continue when a router drops its connections in the middle', async () => {
    const [watched, other] = driven.cluster.routerMembers;
    const writer = await driven.connect({}, `mongodb://${other?.identity.host ?? ''}`);
    const stream = collection().watch([], { maxAwaitTimeMS: 500 });
    await stream.tryNext();
    const ids = inserted(stream, 2);
    await writer.db('streams').collection<Item>('c').insertOne({ _id: 1, k: 1 });
    watched?.server.dropConnections();
    await writer.db('streams').collection<Item>('c').insertOne({ _id: 2, k: -2 });
    expect(await ids).toEqual([1, 2]);
    await stream.close();
  });

  it('begin behind a token or at a time, and show before- and after-images', async () => {
    const db = client.db('streams_images');
    await db.createCollection('c', { changeStreamPreAndPostImages: { enabled: true } });
    const images = db.collection<Item>('c');
    const first = images.watch([], {
      fullDocument: 'required',
      fullDocumentBeforeChange: 'required',
      maxAwaitTimeMS: 100,
    });
    await first.tryNext();
    await images.insertOne({ _id: 1, k: 1, v: 0 });
    await images.updateOne({ _id: 1 }, { $inc: { v: 1 } });
    await images.deleteOne({ _id: 1 });
    const events = [await first.next(), await first.next(), await first.next()] as Document[];
    expect(events[1]).toMatchObject({
      operationType: 'update',
      fullDocument: { v: 1 },
      fullDocumentBeforeChange: { v: 0 },
      updateDescription: { updatedFields: { v: 1 } },
    });
    expect(events[2]).toMatchObject({ operationType: 'delete', fullDocumentBeforeChange: { v: 1 } });
    await first.close();
    const behind = images.watch([], { resumeAfter: events[0]?.['_id'] });
    expect(await behind.next()).toMatchObject({ operationType: 'update' });
    await behind.close();
    const atTime = images.watch([], { startAtOperationTime: events[1]?.['clusterTime'] as never });
    expect(await atTime.next()).toMatchObject({ operationType: 'update' });
    await atTime.close();
  });

  it('filter and reshape, refuse to lose the token, and end when their collection is dropped', async () => {
    const db = client.db('streams_end');
    await db.createCollection('c');
    const watched = db.collection<Item>('c');
    const stream = watched.watch<Document, Document>(
      [
        { $match: { $or: [{ 'fullDocument.v': { $gt: 1 } }, { operationType: { $in: ['drop', 'invalidate'] } }] } },
        { $project: { operationType: 1, 'fullDocument.v': 1 } },
      ],
      { maxAwaitTimeMS: 100 },
    );
    await stream.tryNext();
    await watched.insertMany([
      { _id: 1, k: 1, v: 1 },
      { _id: 2, k: 2, v: 2 },
    ]);
    expect(await stream.next()).toEqual({
      _id: expect.anything() as unknown,
      operationType: 'insert',
      fullDocument: { v: 2 },
    });
    await watched.drop();
    expect(await stream.next()).toMatchObject({ operationType: 'drop' });
    const invalidate = await stream.next();
    expect(invalidate).toMatchObject({ operationType: 'invalidate' });
    await expect(stream.next()).rejects.toThrow(/closed/);
    const after = watched.watch([], { startAfter: (invalidate as { _id: unknown })._id, maxAwaitTimeMS: 100 });
    await after.tryNext();
    await watched.insertOne({ _id: 3, k: 3 });
    expect(await inserted(after, 1)).toEqual([3]);
    await after.close();
    const lossy = watched.watch([{ $project: { _id: 0 } }], { maxAwaitTimeMS: 100 });
    await lossy.tryNext();
    await watched.insertOne({ _id: 4, k: 4 });
    await expect(lossy.next()).rejects.toThrow();
  });
});
