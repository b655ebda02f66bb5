import type { Timestamp } from 'mongodb';
import { EventStream } from '../framework/event-stream.js';
import { codeIn, expectDone, expectRefused, expectThat } from '../framework/expectation.js';
import { NotTried, type Probe } from '../framework/probe.js';
import { timeOf } from '../framework/fixture.js';

const unauthorized = 13;

/** Properties of cluster times. */
export const clusterTimes: readonly Probe[] = [
  {
    name: 'writes-have-rising-times',
    sentence: 'The operation time of a write is after that of every earlier write on its shard.',
    source: 'corpus 03-crud',
    otherwise: 'A time taken as the current one may be before earlier writes.',
    async run(fixture) {
      const name = await fixture.collection();
      let last: Timestamp | null = null;
      for (let _id = 0; _id < 5; _id += 1) {
        const time = timeOf(await fixture.done({ insert: name, documents: [{ _id }] }));
        expectThat('a later time', last === null || time.greaterThan(last), [last, time]);
        last = time;
      }
    },
  },
  {
    name: 'events-bear-the-time-of-their-write',
    sentence: 'An event has the operation time that its write returned.',
    source: 'corpus 04-events-documents',
    otherwise: 'Changes may count as older or newer than a read.',
    async run(fixture) {
      const [name, at] = await fixture.filled([{ _id: 1 }]);
      for (const on of fixture.everywhere) {
        const [event] = (await fixture.read({ on, collection: name, at })).events;
        expectThat(
          'the time of the write as that of the event',
          (event?.clusterTime as Timestamp | undefined)?.equals(at) === true,
          event?.clusterTime,
        );
      }
    },
  },
  {
    name: 'notes-lie-above-all',
    sentence: 'appendOplogNote returns a time after everything written before on that shard.',
    needs: ['direct'],
    source: 'corpus 08-reads-at-a-time',
    otherwise: 'The start time may be after a later write.',
    async run(fixture) {
      const name = await fixture.collection();
      const written = await fixture.insert(name, [{ _id: 1 }]);
      const reply = await fixture.ask({ appendOplogNote: 1, data: { convoy: 'probe' } }, fixture.shard, 'admin');
      if (codeIn(reply) === unauthorized) throw new NotTried('the login may not appendOplogNote');
      expectDone('the note', reply);
      expectThat('its time is later', timeOf(reply).greaterThan(written), [written, timeOf(reply)]);
    },
  },
  {
    name: 'routers-and-notes',
    sentence: 'Routers support appendOplogNote from 6.0 on, and refuse it as unknown (59) before.',
    topology: 'sharded',
    source: 'measured on 5.0.7; server sources',
    otherwise: 'Idle shards may delay a commit by ten seconds.',
    async run(fixture) {
      const reply = await fixture.ask({ appendOplogNote: 1, data: { convoy: 'probe' } }, fixture.front, 'admin');
      if (codeIn(reply) === unauthorized) throw new NotTried('the login may not appendOplogNote');
      if (fixture.isAtLeast(6, 0, 0)) expectDone('the note', reply);
      else expectRefused('the note', reply, 59);
    },
  },
  {
    name: 'reading-after-a-time-moves-idle-shards',
    sentence: 'A router that opens a stream after a time makes every shard reach that time, even idle ones.',
    needs: ['direct', 'twoShards'],
    source: 'measured on 5.0.7',
    otherwise: 'Idle shards may delay a commit by ten seconds.',
    async run(fixture) {
      const name = await fixture.collection();
      const afterClusterTime = await fixture.insert(name, [{ _id: 1 }]);
      await fixture.done({ ...EventStream.command({}), readConcern: { level: 'majority', afterClusterTime } });
      const reached = await fixture.now(fixture.otherShard);
      expectThat('the time of the other shard is not below', reached.greaterThanOrEqual(afterClusterTime), [
        afterClusterTime,
        reached,
      ]);
    },
  },
];
