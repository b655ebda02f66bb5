import type { Timestamp } from 'bson';
import { describe, expect, it } from 'vitest';
import { decodeDocument } from '../../../../src/bson/decode.js';
import type { ShardStream, StreamStart } from '../../../../src/shard/change-stream/shard-stream.js';
import { plain, ShardFixture } from '../shard-fixture.js';
import { VersionedShard } from '../versioned-shard.js';
import { streamStage } from './stream-stage.js';

function mergedStream(fixture: ShardFixture, start: StreamStart): ShardStream {
  return fixture.shard.access.openStream({
    scope: { kind: 'cluster' },
    start,
    stage: streamStage(),
    merged: true,
    pipeline: [],
  });
}

function keysFrom(
  fixture: ShardFixture,
  start: StreamStart,
): { keys: unknown[]; tokens: string[]; stream: ShardStream } {
  const stream = mergedStream(fixture, start);
  const taken = stream.take(100, 1 << 24);
  return {
    stream,
    keys: taken.map(({ bytes }) => plain(decodeDocument(bytes))['documentKey']),
    tokens: taken.map(({ token }) => token),
  };
}

/** A collection with three documents, and the time before them. */
async function insertThree(fixture: ShardFixture): Promise<Timestamp> {
  const start = fixture.now();
  await fixture.run('db', { insert: 'c', documents: [1, 2, 3].map((_id) => ({ _id, k: _id * 10 })) });
  return start;
}

describe('document keys of inserts on routers', () => {
  it('go by the shard key that the collection had when they were written, since 6.0', async () => {
    using fixture = new VersionedShard('8.0');
    const clusterTime = await insertThree(fixture);
    fixture.shard.access.setShardKey('db.c', new Map([['k', null]]));
    await fixture.run('db', { insert: 'c', documents: [{ _id: 4, k: 40 }] });
    expect(keysFrom(fixture, { kind: 'time', clusterTime }).keys).toEqual([
      { _id: 1 },
      { _id: 2 },
      { _id: 3 },
      { k: 40, _id: 4 },
    ]);
  });

  it('go by the shard key that the collection has when the events are read, until 5.0', async () => {
    using fixture = new VersionedShard('5.0');
    const clusterTime = await insertThree(fixture);
    expect(keysFrom(fixture, { kind: 'time', clusterTime }).keys).toEqual([{ _id: 1 }, { _id: 2 }, { _id: 3 }]);
    fixture.shard.access.setShardKey('db.c', new Map([['k', null]]));
    expect(keysFrom(fixture, { kind: 'time', clusterTime }).keys).toEqual([
      { k: 10, _id: 1 },
      { k: 20, _id: 2 },
      { k: 30, _id: 3 },
    ]);
  });

  const byKey = new Map([['k', null]]);
  it.each([
    { change: 'sharded', keyBefore: undefined, keyAfter: byKey },
    { change: 'no longer sharded', keyBefore: byKey, keyAfter: undefined },
  ])(
    'let a stream resume at an event that was read before the collection was $change',
    async ({ keyBefore, keyAfter }) => {
      using fixture = new ShardFixture();
      const clusterTime = await insertThree(fixture);
      fixture.shard.access.setShardKey('db.c', keyBefore);
      const { tokens } = keysFrom(fixture, { kind: 'time', clusterTime });
      fixture.shard.access.setShardKey('db.c', keyAfter);
      const resumed = keysFrom(fixture, { kind: 'token', token: tokens[1] ?? '', afterInvalidate: false });
      expect(resumed.keys).toHaveLength(1);
      expect(resumed.keys[0]).toMatchObject({ _id: 3 });
      expect(resumed.stream.tokenSeen).toBe(true);
    },
  );
});
