import { type Document, Timestamp } from 'mongodb';
import { endMark, EventStream } from '../framework/event-stream.js';
import { codeIn, expectRefused, expectSame, expectThat, valuesOf } from '../framework/expectation.js';
import type { Probe } from '../framework/probe.js';
import { after, type Fixture, oneOnEachShard, timeOf } from '../framework/fixture.js';

const corpus = 'corpus 06-resume-and-errors';

/** Seconds and increment of a token, after its first two digits. */
function timeIn(token: string): string {
  return token.slice(2, 18);
}

function digits(time: Timestamp): string {
  return time.toBigInt().toString(16).padStart(16, '0').toUpperCase();
}

function tokenOf(event: Document): string {
  return (event._id as { _data: string })._data;
}

function idsOf(events: readonly Document[]): unknown[] {
  return events.map(({ documentKey }) => (documentKey as Document)._id as unknown);
}

/** Where streams start, resume and end. */
export const streamPositions: readonly Probe[] = [
  {
    name: 'start-time-is-inclusive',
    sentence: 'A stream that starts at a time shows the events of exactly that time, and none before it.',
    source: corpus,
    otherwise: 'Changes may be lost when a stream is opened again.',
    async run(fixture) {
      const name = await fixture.collection();
      await fixture.insert(name, [{ _id: 1 }]);
      const at = await fixture.insert(name, [{ _id: 2 }]);
      await fixture.insert(name, [{ _id: 3 }]);
      for (const on of fixture.everywhere)
        expectSame(`_ids, on ${on.name}`, idsOf((await fixture.read({ on, collection: name, at })).events), [2, 3]);
    },
  },
  {
    name: 'tokens-begin-with-the-time',
    sentence:
      'A resume token starts with 82 and the seconds and the increment of its cluster time, and so sorts by time.',
    source: corpus,
    otherwise: 'Convoy cannot determine how far a stream was read.',
    async run(fixture) {
      const [name, at] = await fixture.filled([{ _id: 1 }]);
      await fixture.insert(name, [{ _id: 2 }]);
      for (const on of fixture.everywhere) {
        const stream = await fixture.read({ on, collection: name, at });
        for (const event of stream.events) {
          const [token, time] = [tokenOf(event), digits(event.clusterTime as Timestamp)];
          expectThat(`the token of an event starts with 82 and ${time}`, token.startsWith(`82${time}`), token);
        }
        const times = stream.tokens.map(timeIn);
        expectSame(`the tokens of batches, on ${on.name}`, times, [...times].sort());
        expectThat('the first batch starts at the time', (times[0] ?? '') <= digits(at), times[0]);
      }
    },
  },
  {
    name: 'tokens-name-the-uuid',
    sentence: 'The token of an event contains the UUID of its collection after 5A1004.',
    source: corpus,
    otherwise: 'Changes may be applied to another collection of the same name.',
    async run(fixture) {
      const [name, at] = await fixture.filled([{ _id: 1 }]);
      await fixture.update(name, { _id: 1 }, { $set: { v: 1 } });
      await fixture.remove(name, { _id: 1 });
      const uuid = (await fixture.uuid(name)) as { buffer: Uint8Array };
      const wanted = Buffer.from(uuid.buffer).toString('hex').toUpperCase();
      for (const on of fixture.everywhere) {
        const { events } = await fixture.read({ on, collection: name, at });
        for (const token of events.map(tokenOf))
          expectThat(`5A1004 and ${wanted} in the token`, token.includes(`5A1004${wanted}`, 18), token);
      }
    },
  },
  {
    name: 'empty-batches-move-on',
    sentence: 'The token of an empty batch advances with writes elsewhere, even if a stage filters all events out.',
    source: corpus,
    otherwise: 'Streams of idle shards do not advance, and neither does the commit.',
    async run(fixture) {
      const [name, other] = [await fixture.collection(), await fixture.collection()];
      const at = await fixture.now();
      for (const on of fixture.everywhere) {
        const idle = await fixture.stream({ on, collection: name, at });
        const filtered = await fixture.stream({ on, at, pipeline: [{ $match: { operationType: 'nothing' } }] });
        const time = digits(await fixture.insert(other, [{ on: on.name }]));
        for (const stream of [idle, filtered]) {
          await stream.until(({ token }) => timeIn(token) >= time);
          expectThat(`a token at or above ${time}, on ${on.name}`, timeIn(stream.token) >= time, stream.token);
          expectSame('the events', stream.events, []);
        }
      }
    },
  },
  {
    name: 'token-is-a-lower-bound',
    sentence: "A stream that starts at the time of a batch's token shows everything after that batch.",
    source: corpus,
    otherwise: 'Changes may be lost when a stream is opened again.',
    async run(fixture) {
      const [name, at] = await fixture.filled([{ _id: 1 }]);
      const stream = await fixture.stream({ collection: name, at });
      await stream.until(({ events }) => events.length > 0);
      const reached = timeIn(stream.token);
      await fixture.insert(name, [{ _id: 2 }, { _id: 3 }]);
      const again = new Timestamp(BigInt(`0x${reached}`));
      const ids = idsOf((await fixture.read({ collection: name, at: again })).events);
      expectSame(
        '_ids from the token on',
        ids.filter((_id) => _id !== 1),
        [2, 3],
      );
    },
  },
  {
    name: 'lost-history-is-reported',
    sentence:
      'A stream that starts before the oplog does is refused with ChangeStreamHistoryLost (286), at its first ' +
      'batch at the latest.',
    needs: ['direct'],
    source: corpus,
    otherwise: 'A stream may silently skip changes that the oplog no longer has.',
    async run(fixture) {
      const name = await fixture.collection();
      const at = new Timestamp({ t: 1_000, i: 1 });
      const opened = await fixture.ask({ ...EventStream.command({ collection: name, at }), cursor: {} }, fixture.shard);
      if (codeIn(opened) !== 0) expectRefused('the stream', opened, 286);
      // A young oplog still starts with the first entry of the set: nothing before it was lost.
      else
        expectThat(
          'no event is left out',
          (
            await fixture.rows(
              { find: 'oplog.rs', sort: { $natural: 1 }, projection: { op: 1, 'o.msg': 1 }, limit: 1 },
              fixture.shard,
              'local',
            )
          ).some(isFirstEntry),
          'a stream from the beginning, although the oplog no longer has it',
        );
    },
  },
  {
    name: 'unknown-options-are-refused',
    sentence: 'Before 6.0 showExpandedEvents is refused (40415).',
    below: [6, 0, 0],
    source: corpus,
    otherwise: 'Nothing is lost: Convoy compares both catalogs.',
    async run(fixture) {
      const name = await fixture.collection();
      expectRefused(
        'the stream',
        await fixture.ask(EventStream.command({ collection: name, stage: { showExpandedEvents: true } })),
        40_415,
      );
    },
  },
  {
    name: 'router-brings-time-order',
    sentence: 'A router returns the events of all shards in the order of their times.',
    needs: ['twoShards'],
    source: corpus,
    otherwise: 'Changes of one document that moves between shards may be applied in another order.',
    async run(fixture) {
      const name = await fixture.split();
      const at = after(await fixture.now());
      for (let _id = 1; _id <= 12; _id += 1) await fixture.insert(name, [{ _id, sk: _id % 3 === 0 ? -_id : _id }]);
      const { events } = await fixture.read({ collection: name, at }, { sk: 1 });
      expectSame(
        '_ids',
        idsOf(events),
        Array.from({ length: 12 }, (_, index) => index + 1),
      );
    },
  },
  {
    name: 'transaction-has-one-time',
    sentence: 'The events of a transaction arrive in the order of its statements, with one time, session and number.',
    source: 'corpus 11-transactions',
    otherwise: 'A transaction may be applied in part.',
    async run(fixture) {
      const [name, at] = await fixture.filled([{ _id: 0 }]);
      const session = fixture.session();
      await session.begin({ insert: name, documents: [{ _id: 1 }, { _id: 2 }] });
      await session.go({ update: name, updates: [{ q: { _id: 2 }, u: { $set: { v: 1 } } }] });
      await session.go({ delete: name, deletes: [{ q: { _id: 0 }, limit: 1 }] });
      expectThat('it is committed', codeIn(await session.commit()) === 0, null);
      for (const on of fixture.everywhere) {
        const [, ...events] = (await fixture.read({ on, collection: name, at })).events;
        expectSame(
          'operations and _ids',
          events.map(({ operationType, documentKey }) => [operationType, (documentKey as Document)._id] as unknown),
          [
            ['insert', 1],
            ['insert', 2],
            ['update', 2],
            ['delete', 0],
          ],
        );
        expectSame('their times', new Set(events.map(({ clusterTime }) => String(clusterTime))).size, 1);
        expectSame(
          'their sessions and numbers',
          events.map(({ lsid, txnNumber }) => [(lsid as Document | undefined)?.id, Number(txnNumber)] as unknown),
          events.map(() => [session.lsid.id, 1] as unknown),
        );
      }
    },
  },
  {
    name: 'transaction-over-shards-shows-both-parts',
    sentence: 'A transaction over two shards shows its part on each, with the same session and number.',
    needs: ['direct', 'twoShards'],
    source: 'corpus 11-transactions',
    otherwise: 'A transaction may be applied in part.',
    async run(fixture) {
      const name = await fixture.split();
      const at = after(await fixture.now());
      const session = fixture.session();
      await session.begin({ insert: name, documents: oneOnEachShard });
      expectThat('it is committed', codeIn(await session.commit()) === 0, null);
      for (const [on, _id] of [
        [fixture.shard, 1],
        [fixture.otherShard, 2],
      ] as const) {
        const stream = await fixture.stream({ on, collection: name, at });
        const [event] = await stream.until(({ events }) => events.length > 0);
        expectSame(
          `_id, session and number, on ${on.name}`,
          [
            (event?.documentKey as Document | undefined)?._id as unknown,
            (event?.lsid as Document | undefined)?.id as unknown,
            Number(event?.txnNumber),
          ],
          [_id, session.lsid.id, 1],
        );
      }
    },
  },
  {
    name: 'large-events-are-split',
    sentence:
      'With $changeStreamSplitLargeEvent an event of more than 16 MB arrives in fragments; before 6.0.9 it ends ' +
      'the stream with BSONObjectTooLarge (10334).',
    source: 'measured on 5.0.7; manual: $changeStreamSplitLargeEvent',
    otherwise: 'A stream may end at a large event, or lose it.',
    async run(fixture) {
      if (fixture.isAtLeast(6, 0, 9)) await expectFragments(fixture);
      else await expectEndOfStream(fixture);
    },
  },
  {
    name: 'one-stream-shows-all',
    sentence:
      'A stream of the whole cluster shows documents of every database, and continues after the drop of a collection.',
    source: corpus,
    otherwise: 'Changes may be lost, or the stream may end.',
    async run(fixture) {
      const [name, other] = [await fixture.collection(), await fixture.collection()];
      const at = await fixture.insert(name, [{ _id: 1 }]);
      await fixture.done({ drop: name });
      await fixture.insert(other, [{ _id: 2 }]);
      const pipeline = [{ $match: { 'ns.db': fixture.db } }];
      const { events } = await fixture.read({ at, database: 'admin', stage: { allChangesForCluster: true }, pipeline });
      const own = events.filter(({ ns }) => [name, other].includes((ns as { coll?: string } | undefined)?.coll ?? ''));
      expectSame('the operations', valuesOf(own, 'operationType'), ['insert', 'drop', 'insert']);
    },
  },
  {
    name: 'streams-are-filtered-by-kind',
    sentence: 'A stream with a stage that filters out kinds of events shows only the others.',
    source: corpus,
    otherwise: 'Convoy may miss DDL changes.',
    async run(fixture) {
      const [name, at] = await fixture.filled([{ _id: 1 }]);
      await fixture.done({ drop: name });
      await fixture.insert(endMark, [{ [endMark]: 1 }]);
      const stream = await fixture.stream({
        at,
        pipeline: [{ $match: { operationType: { $nin: ['insert', 'update', 'replace', 'delete'] } } }],
      });
      const reached = timeOf(await fixture.done({ ping: 1 }));
      const events = await stream.until(({ token }) => timeIn(token) >= digits(reached));
      expectSame('the operations', valuesOf(events, 'operationType'), ['drop']);
    },
  },
];

/** An event of 17 MB: the changed field, and the whole document as it is looked up. */
async function expectFragments(fixture: Fixture): Promise<void> {
  const name = await fixture.collection([{ _id: 1, large: 'x' }]);
  const at = await fixture.update(name, { _id: 1 }, { $set: { large: 'x'.repeat(8_500_000) } });
  const stream = await fixture.stream({
    collection: name,
    at,
    stage: { fullDocument: 'updateLookup' },
    pipeline: [{ $changeStreamSplitLargeEvent: {} }],
  });
  const fragments = await stream.until(({ events }) => events.some(isLastFragment));
  expectSame(
    'the fragments',
    valuesOf(fragments, 'splitEvent'),
    fragments.map((_, index) => ({ fragment: index + 1, of: fragments.length })),
  );
  expectThat('more than one', fragments.length > 1, fragments.length);
}

/** An event whose document has 16 MB, and which contains the key three times. */
async function expectEndOfStream(fixture: Fixture): Promise<void> {
  const [name, at] = await fixture.filled([{ _id: 'k'.repeat(40_000), large: 'x'.repeat(16_730_000) }]);
  const stream = await fixture.stream({ collection: name, at });
  let reply: Document = {};
  for (let left = 40; left > 0 && codeIn(reply) <= 0 && stream.events.length === 0; left -= 1)
    reply = await stream.next();
  expectRefused('the batch', reply, 10_334);
}

function isLastFragment({ splitEvent }: Document): boolean {
  const { fragment, of } = (splitEvent ?? {}) as { fragment?: number; of?: number };
  return fragment !== undefined && fragment === of;
}

/** What a replica set writes when it is initiated. */
function isFirstEntry({ op, o }: Document): boolean {
  return op === 'n' && (o as Document | undefined)?.msg === 'initiating set';
}
