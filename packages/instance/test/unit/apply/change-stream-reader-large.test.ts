import { BSON, type Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { ChangeStreamReader } from '../../../src/apply/change-stream-reader.js';
import type { NodeClient, RawBatch } from '../../../src/cluster/node-client.js';
import { batchOf, serverError } from '../model/calls.js';
import { eventOf, type SeenChange, tokenOf } from '../model/change-events.js';
import { bytesOf, collectionOf, never, once, rawOf, times } from '../model/parts.js';
import { bringTo } from '../model/partition-states.js';
import { clientWith } from '../model/client-with.js';
import { DispatcherFixture, step } from './dispatcher-fixture.js';

const tooLarge = serverError(10_334);
const event = bytesOf({ a: 1 });
let stages: Document[][];
let answers: (Partial<RawBatch> | Error)[];
let stream: ChangeStreamReader;
/** What the shard's oplog answers; null: it refuses. */
let oplogEntries: Document[] | null;

beforeEach(() => {
  stages = [];
  oplogEntries = [];
  stream = new ChangeStreamReader(clientOf(), [5, 0, 7], once, 10n, { isAwaited: () => false, isIdle: () => false });
});

/** A client whose cursors answer from the list. */
function clientOf(): NodeClient {
  const next = (): Promise<RawBatch> => {
    const answer = answers.shift() ?? {};
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(batchOf(answer.documents ?? [], answer));
  };
  const openCursor = (_database: string, command: Document) => {
    stages.push((command.pipeline as Document[]).slice(1));
    return Promise.resolve({ first: batchOf([], {}), open: true, next, close: () => Promise.resolve() });
  };
  const command = () =>
    oplogEntries === null
      ? Promise.reject(serverError(13))
      : Promise.resolve({ cursor: { firstBatch: oplogEntries, id: 0 } });
  return clientWith({ label: 'shard', openCursor, command });
}

/** The event without its large parts. */
const unlessLarge = (part: string): Document => ({
  $cond: [{ $gt: [{ $bsonSize: part }, 1024 * 1024] }, '$$REMOVE', part],
});
const stripped = [
  {
    $addFields: {
      fullDocument: unlessLarge('$fullDocument'),
      updateDescription: unlessLarge('$updateDescription'),
      rawUpdateDescription: unlessLarge('$rawUpdateDescription'),
    },
  },
];

describe('an event that is too large for a reply', () => {
  it('comes without its document; later events have theirs again', async () => {
    answers = [
      tooLarge,
      {},
      { documents: [event], resumeToken: tokenOf(20n) },
      { resumeToken: tokenOf(20n) },
      { resumeToken: tokenOf(21n) },
      { documents: [event], resumeToken: tokenOf(30n) },
    ];
    await stream.next(never);
    expect(await stream.next(never)).toMatchObject({ readBelow: 10n, reopened: true });
    for (let step = 0; step < 4; step += 1) await stream.next(never);
    expect(stages).toEqual([[], stripped]);
    expect(await stream.next(never)).toMatchObject({ readBelow: 21n, reopened: true });
    expect(await stream.next(never)).toMatchObject({ events: [event], readBelow: 30n });
    expect(stages).toEqual([[], stripped, []]);
  });

  it.each([
    [
      'its collection and size',
      [{ ns: 'shop.c', bytes: 5_000_000 }],
      /^A change of 5000000 bytes in shop\.c fits into/,
    ],
    ['the shard where the oplog shows nothing', [], /^The change stream of shard has a change that fits into/],
    ['the shard where the oplog may not be read', null, /^The change stream of shard has a change that fits into/],
  ])('ends the stream when even its key is too large, and names %s', async (_, entries, says) => {
    answers = [tooLarge, tooLarge];
    oplogEntries = entries;
    await stream.next(never);
    await stream.next(never);
    await expect(stream.next(never)).rejects.toMatchObject({
      error: 'documentTooLarge',
      errorDescription: expect.stringMatching(says) as unknown,
      cause: tooLarge,
    });
  });

  it('is assembled where the server splits it, also from several batches', async () => {
    const part = (fragment: number, fields: Document): Uint8Array =>
      bytesOf({ _id: { _data: `token ${fragment}` }, splitEvent: { fragment, of: 3 }, ...fields });
    answers = [
      { documents: [event, part(1, { b: 1 }), part(2, { c: 1 })], resumeToken: tokenOf(20n) },
      { documents: [part(3, { d: 1 }), event], resumeToken: tokenOf(30n) },
    ];
    stream = new ChangeStreamReader(clientOf(), [7, 0, 0], once, 10n, { isAwaited: () => false, isIdle: () => false });
    await stream.next(never);
    expect(await stream.next(never)).toMatchObject({ events: [event], readBelow: 20n });
    expect((await stream.next(never)).events.map((bytes) => BSON.deserialize(bytes))).toEqual([
      { _id: { _data: 'token 1' }, b: 1, c: 1, d: 1 },
      { a: 1 },
    ]);
    expect(stages).toEqual([[{ $changeStreamSplitLargeEvent: {} }]]);
  });

  it('restarts with its first part when the cursor is lost in between', async () => {
    const part = (fragment: number): Uint8Array =>
      bytesOf({ _id: 1, splitEvent: { fragment, of: 2 }, [`part${fragment}`]: 1 });
    answers = [{ documents: [part(1)] }, serverError(43), { documents: [part(1), part(2)] }];
    stream = new ChangeStreamReader(clientOf(), [6, 0, 9], times(2), 10n, {
      isAwaited: () => false,
      isIdle: () => false,
    });
    await stream.next(never);
    expect((await stream.next(never)).events).toEqual([]);
    expect(await stream.next(never)).toMatchObject({ events: [], reopened: true });
    expect((await stream.next(never)).events.map((bytes) => BSON.deserialize(bytes))).toEqual([
      { _id: 1, part1: 1, part2: 1 },
    ]);
  });

  it('belongs to the shard when it is an insert, whose key does not show its owner', () => {
    const fixture = new DispatcherFixture();
    const dispatcher = fixture.dispatcherOf({}, collectionOf({ owns: () => false }));
    bringTo(fixture.partition, 'done');
    const key: SeenChange['key'] = [
      ['sk', rawOf(1)],
      ['_id', rawOf(1)],
    ];
    dispatcher.route(step([eventOf({ operation: 'insert', key, inTransaction: false }, 20n)], 21n));
    expect(fixture.routed.map(({ event: { operation, fullDocument } }) => [operation, fullDocument])).toEqual([
      ['insert', null],
    ]);
  });
});
