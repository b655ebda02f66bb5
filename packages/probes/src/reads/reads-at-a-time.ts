import { type Document, Timestamp } from 'mongodb';
import { cursorIn, expectRefused, expectSame } from '../framework/expectation.js';
import { asLong } from '../framework/event-stream.js';
import type { Probe } from '../framework/probe.js';
import { type Fixture, timeOf } from '../framework/fixture.js';
import type { Server } from '../framework/server.js';

const corpus = 'corpus 08-reads-at-a-time';
const two = [
  { _id: 1, v: 'old' },
  { _id: 2, v: 'old' },
];

/** A snapshot read concern at one time. */
export function at(atClusterTime: Timestamp): Document {
  return { readConcern: { level: 'snapshot', atClusterTime } };
}

/** A collection, the time of its two documents, and later changes. */
async function changedSince(fixture: Fixture): Promise<[string, Timestamp]> {
  const [name, time] = await fixture.filled(two);
  await fixture.update(name, { _id: 1 }, { $set: { v: 'new' } });
  await fixture.remove(name, { _id: 2 });
  await fixture.insert(name, [{ _id: 3, v: 'new' }]);
  return [name, time];
}

/** Reads the first of several documents at a time. @returns the command that reads the rest */
async function firstOf(fixture: Fixture, name: string, time: Timestamp, on: Server): Promise<Document> {
  const { id = 0 } = cursorIn(await fixture.done({ find: name, sort: { _id: 1 }, batchSize: 1, ...at(time) }, on));
  return { getMore: asLong(id), collection: name };
}

/** Snapshot reads at one time. */
export const readsAtATime: readonly Probe[] = [
  {
    name: 'find-at-a-time',
    sentence: 'A find at a time shows exactly the documents of that time, whatever was written since.',
    source: corpus,
    otherwise: 'Copied documents and change events may not fit together.',
    async run(fixture) {
      const [name, time] = await changedSince(fixture);
      await fixture.expectRows('documents at the time', { find: name, sort: { _id: 1 }, ...at(time) }, two);
    },
  },
  {
    name: 'aggregate-at-a-time',
    sentence: 'An aggregate at a time shows exactly the documents of that time.',
    source: corpus,
    otherwise: 'Samples and groups of the comparison may belong to another time than its documents.',
    async run(fixture) {
      const [name, time] = await changedSince(fixture);
      const pipeline = [{ $group: { _id: '$v', n: { $sum: 1 } } }];
      await fixture.expectRows('groups at the time', { aggregate: name, pipeline, cursor: {}, ...at(time) }, [
        { _id: 'old', n: 2 },
      ]);
    },
  },
  {
    name: 'cursor-keeps-its-time',
    sentence: 'A cursor that reads at a time keeps it for all its batches.',
    source: corpus,
    otherwise: 'A partition may hold documents of several times.',
    async run(fixture) {
      const [name, time] = await fixture.filled([...two, { _id: 3, v: 'old' }]);
      for (const on of fixture.everywhere) {
        const getMore = await firstOf(fixture, name, time, on);
        await fixture.update(name, { _id: 2 }, { $set: { v: on.name } });
        expectSame(
          `the second batch, on ${on.name}`,
          cursorIn(await fixture.done({ ...getMore, batchSize: 1 }, on)).nextBatch,
          [{ _id: 2, v: 'old' }],
        );
      }
    },
  },
  {
    name: 'read-states-its-time',
    sentence: 'The reply to a find at a time contains that time.',
    source: corpus,
    otherwise: 'Convoy cannot tell an empty collection from a missing one.',
    async run(fixture) {
      const [name, time] = await fixture.filled(two);
      for (const on of fixture.everywhere)
        expectSame(
          `cursor.atClusterTime, on ${on.name}`,
          cursorIn(await fixture.done({ find: name, ...at(time) }, on)).atClusterTime,
          time,
        );
    },
  },
  {
    name: 'shard-states-no-time-for-absent',
    sentence: 'A shard answers a find at a time of a missing collection with an empty batch and without the time.',
    needs: ['direct'],
    source: corpus,
    otherwise: 'A collection that was renamed or dropped is copied as an empty one.',
    async run(fixture) {
      const time = await fixture.now(fixture.shard);
      const cursor = cursorIn(await fixture.done({ find: fixture.newName(), ...at(time) }, fixture.shard));
      expectSame('the first batch', cursor.firstBatch, []);
      expectSame('cursor.atClusterTime', cursor.atClusterTime, undefined);
    },
  },
  {
    name: 'router-states-time-for-absent',
    sentence:
      'A router returns the time of a find even if the collection is missing: through it, empty and missing look ' +
      'the same.',
    topology: 'sharded',
    source: 'measured on 5.0.7',
    otherwise: 'Nothing is lost: Convoy waits for the DDL changes anyway.',
    async run(fixture) {
      const time = await fixture.now();
      const cursor = cursorIn(await fixture.done({ find: fixture.newName(), ...at(time) }));
      expectSame('the first batch', cursor.firstBatch, []);
      expectSame('cursor.atClusterTime', cursor.atClusterTime, time);
    },
  },
  {
    name: 'time-too-old-is-refused',
    sentence:
      'A find at a time before the available history is refused with SnapshotTooOld (239), SnapshotUnavailable ' +
      '(246) or StaleChunkHistory (250); by routers of 8.0 also with MigrationConflict (272), if the database is ' +
      'younger.',
    source: `${corpus}; seen on 8.0.10`,
    otherwise: 'Partitions whose time has become too old may hold documents of another time.',
    async run(fixture) {
      const name = await fixture.collection(two);
      const old = new Timestamp({ t: 1_600_000_000, i: 1 });
      const codes = [239, 246, 250, ...(fixture.isAtLeast(8, 0, 0) ? [272] : [])];
      for (const on of fixture.everywhere)
        expectRefused(`a find long ago, on ${on.name},`, await fixture.ask({ find: name, ...at(old) }, on), ...codes);
    },
  },
  {
    name: 'time-to-come-is-refused',
    sentence: 'A find at a future time is refused with InvalidOptions (72).',
    source: corpus,
    otherwise: 'A read may wait forever.',
    async run(fixture) {
      const name = await fixture.collection(two);
      const now = await fixture.now();
      const later = new Timestamp({ t: now.t + 3600, i: 1 });
      for (const on of fixture.everywhere)
        expectRefused(`a find an hour ahead, on ${on.name},`, await fixture.ask({ find: name, ...at(later) }, on), 72);
    },
  },
  {
    name: 'capped-at-a-time',
    sentence: 'A find at a time of a capped collection is refused with SnapshotUnavailable (246).',
    below: [6, 0, 0],
    source: corpus,
    otherwise: 'Nothing is lost: Convoy reads the current state of capped collections.',
    async run(fixture) {
      const name = await fixture.collection([], { capped: true, size: 4096 });
      const time = await fixture.insert(name, two);
      for (const on of fixture.everywhere)
        expectRefused(`the find, on ${on.name},`, await fixture.ask({ find: name, ...at(time) }, on), 246);
    },
  },
  {
    name: 'rename-ends-older-times',
    sentence:
      'Before 7.0, a find by UUID at a time before the rename of its collection is refused with 246. From 7.0 on ' +
      'it shows the documents of that time.',
    needs: ['direct'],
    source: `${corpus}; SERVER-73679`,
    otherwise: 'A partition that is read across a rename may lack documents.',
    async run(fixture) {
      const [name, time] = await fixture.filled(two);
      const uuid = await fixture.uuid(name, fixture.shard);
      await fixture.rename(name);
      const reply = await fixture.ask({ find: uuid, sort: { _id: 1 }, ...at(time) }, fixture.shard);
      if (fixture.isAtLeast(7, 0, 0)) expectSame('documents at the time', cursorIn(reply).firstBatch, two);
      else expectRefused('the find', reply, 246);
    },
  },
  {
    name: 'rename-ends-cursors',
    sentence:
      'Before 7.0, an open cursor ends with QueryPlanKilled (175) when its collection is renamed; from 7.0 on, a ' +
      'cursor that reads at a time continues.',
    needs: ['direct'],
    source: `${corpus}; SERVER-73679`,
    otherwise: 'A partition that is read across a rename may lack documents.',
    async run(fixture) {
      const [name, time] = await fixture.filled(two);
      const getMore = await firstOf(fixture, name, time, fixture.shard);
      await fixture.rename(name);
      const reply = await fixture.ask(getMore, fixture.shard);
      if (fixture.isAtLeast(7, 0, 0)) expectSame('the rest', cursorIn(reply).nextBatch, two.slice(1));
      else expectRefused('the second batch', reply, 175);
    },
  },
  {
    name: 'drop-ends-cursors',
    sentence: 'Before 7.0, an open cursor ends with QueryPlanKilled (175) when its collection is dropped.',
    below: [7, 0, 0],
    needs: ['direct'],
    source: corpus,
    otherwise: 'A partition of a dropped collection may count as copied.',
    async run(fixture) {
      const [name, time] = await fixture.filled(two);
      const getMore = await firstOf(fixture, name, time, fixture.shard);
      await fixture.done({ drop: name });
      expectRefused('the second batch', await fixture.ask(getMore, fixture.shard), 175);
    },
  },
  {
    name: 'own-writes-at-majority',
    sentence: 'A find at majority with afterClusterTime of a write shows that write.',
    source: 'manual: causal consistency',
    otherwise: 'Convoy may not find its own metadata again.',
    async run(fixture) {
      const name = await fixture.collection();
      for (const _id of [1, 2, 3]) {
        const afterClusterTime = timeOf(await fixture.done({ insert: name, documents: [{ _id }] }));
        expectSame(
          'the documents',
          await fixture.rows({ find: name, filter: { _id }, readConcern: { level: 'majority', afterClusterTime } }),
          [{ _id }],
        );
      }
    },
  },
  {
    name: 'old-name-shows-older-times',
    sentence:
      'From 7.0 on, a find at a time before the rename of its collection finds it under its old name; before, ' +
      'the name is gone.',
    needs: ['direct'],
    source: `${corpus}; SERVER-73679`,
    otherwise: 'A name may denote another collection than Convoy assumes.',
    async run(fixture) {
      const [name, time] = await fixture.filled(two);
      await fixture.rename(name);
      const { firstBatch } = cursorIn(await fixture.ask({ find: name, sort: { _id: 1 }, ...at(time) }, fixture.shard));
      expectSame('documents under the old name', firstBatch, fixture.isAtLeast(7, 0, 0) ? two : []);
    },
  },
];
