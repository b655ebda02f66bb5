import type { Document, Timestamp } from 'mongodb';
import { expectSame, expectThat, valuesOf } from '../framework/expectation.js';
import type { EventStream } from '../framework/event-stream.js';
import type { Probe } from '../framework/probe.js';
import { after, type Fixture } from '../framework/fixture.js';

const corpus = 'corpus 04-events-documents';

/** Events of updates to one document. */
async function updatesOf(
  fixture: Fixture,
  document: Document,
  updates: readonly (Document | Document[])[],
  stage: Document = {},
): Promise<Document[]> {
  const [name, at] = await fixture.filled([{ _id: 1, ...document }]);
  for (const update of updates) await fixture.update(name, { _id: 1 }, update);
  const { events } = await fixture.read({ collection: name, at, stage });
  return events.filter(({ operationType }) => operationType === 'update');
}

/** Streams of a split collection: through the router, and on each shard. */
async function splitStreams(fixture: Fixture, name: string, at: Timestamp): Promise<EventStream[]> {
  const opened: EventStream[] = [];
  for (const on of [fixture.front, fixture.shard, fixture.otherShard])
    opened.push(await fixture.stream({ on, collection: name, at }));
  return opened;
}

/** The server shows a replacement if the document is small compared with its changes. */
const rest = 'x'.repeat(1_000);

/** Events of document changes. */
export const documentEvents: readonly Probe[] = [
  {
    name: 'insert-and-replace-bring-the-document',
    sentence: 'Events of inserts and replacements contain the whole document, with its fields in order.',
    source: corpus,
    otherwise: 'Documents arrive changed.',
    async run(fixture) {
      const name = await fixture.collection();
      const [before, after] = [
        { _id: 1, b: 1, $a: 1, 'c.d': { z: 1, a: 2 } },
        { _id: 1, z: [1, { y: 1 }], b: 2 },
      ];
      const at = await fixture.insert(name, [before]);
      await fixture.update(name, { _id: 1 }, after);
      const { events } = await fixture.read({ collection: name, at });
      expectSame(
        'the events',
        events.map(({ operationType, fullDocument }) => [operationType, fullDocument] as unknown),
        [
          ['insert', before],
          ['replace', after],
        ],
      );
    },
  },
  {
    name: 'update-description',
    sentence:
      'An update event shows the values of set fields, the names of unset fields, and the new lengths of ' +
      'truncated arrays.',
    source: corpus,
    otherwise: 'Convoy cannot replay updates.',
    async run(fixture) {
      const [event] = await updatesOf(fixture, { a: 1, b: 1, list: [1, 2, 3, 4], inner: { x: 1, y: 1, rest }, rest }, [
        [{ $set: { a: 2, 'inner.x': 2, list: [1, 2] } }, { $unset: ['b', 'inner.y'] }],
      ]);
      const { updatedFields, removedFields, truncatedArrays } = (event?.updateDescription ?? {}) as Document;
      expectSame('updatedFields', sorted(updatedFields as Document), { a: 2, 'inner.x': 2 });
      expectSame('removedFields', [...(removedFields as string[])].sort(), ['b', 'inner.y']);
      expectSame('truncatedArrays', truncatedArrays, [{ field: 'list', newSize: 2 }]);
    },
  },
  {
    name: 'array-elements-by-index',
    sentence: 'A change inside an array is shown under the array index.',
    source: corpus,
    otherwise: 'Convoy cannot replay updates of arrays.',
    async run(fixture) {
      const events = await updatesOf(fixture, { list: [1, { x: 1 }] }, [
        { $set: { 'list.1.x': 2 } },
        { $push: { list: 3 } },
      ]);
      expectSame('updatedFields', valuesOf(valuesOf(events, 'updateDescription') as Document[], 'updatedFields'), [
        { 'list.1.x': 2 },
        { 'list.2': 3 },
      ]);
    },
  },
  {
    name: 'ambiguous-paths',
    sentence:
      'If a path may mean a name with dots, a field of digits or an array, disambiguatedPaths resolves it from ' +
      '6.1 on; before, nothing does.',
    source: `${corpus}; manual: showExpandedEvents`,
    otherwise: 'Such updates may be applied to other fields.',
    async run(fixture) {
      const reports = fixture.isAtLeast(6, 1, 0);
      const stage = fixture.isAtLeast(6, 0, 0) ? { showExpandedEvents: true } : {};
      const [event] = await updatesOf(fixture, { o: { 0: { x: 1 } } }, [{ $set: { 'o.0.x': 2 } }], stage);
      const description = event?.updateDescription as Document | undefined;
      expectSame('updatedFields', description?.updatedFields, { 'o.0.x': 2 });
      expectSame(
        'disambiguatedPaths',
        description?.disambiguatedPaths,
        reports ? { 'o.0.x': ['o', '0', 'x'] } : undefined,
      );
    },
  },
  {
    name: 'raw-update-descriptions',
    sentence:
      "From 6.0 on, showRawUpdateDescription shows the oplog's diff of an update, on shards and through the router: " +
      'what it inserts comes last, also when the field was there; what it updates keeps its place.',
    from: [6, 0, 0],
    source: 'measured on 8.0.10; SERVER-61894; server: db/update/document_diff_applier.cpp',
    otherwise: 'Fields of updated documents may be in another order than on the source, or other fields be changed.',
    async run(fixture) {
      const before = { _id: 1, a: 1, n: { y: [0, 1], 'p.q': 1 }, s: rest, t: rest };
      const [name, at] = await fixture.filled([before]);
      await fixture.update(name, { _id: 1 }, { $set: { 'n.y.1': 9, b: 2 }, $unset: { a: 1 } });
      await fixture.update(name, { _id: 1 }, [{ $replaceWith: { _id: '$_id', n: '$n', t: '$t', s: '$s', b: '$b' } }]);
      const setField = { $setField: { field: 'p.q', input: '$n', value: 2 } };
      await fixture.update(name, { _id: 1 }, [{ $set: { n: setField } }]);
      for (const on of fixture.everywhere) {
        const { events } = await fixture.read({ on, collection: name, at, stage: { showRawUpdateDescription: true } });
        const updates = events.filter(({ operationType }) => operationType === 'update');
        expectSame('updateDescription', valuesOf(updates, 'updateDescription'), [undefined, undefined, undefined]);
        expectSame('rawUpdateDescription', valuesOf(updates, 'rawUpdateDescription'), [
          { $v: 2, diff: { d: { a: false }, i: { b: 2 }, sn: { sy: { a: true, u1: 9 } } } },
          { $v: 2, diff: { i: { s: rest, b: 2 } } },
          { $v: 2, diff: { sn: { u: { 'p.q': 2 } } } },
        ]);
      }
    },
  },
  {
    name: 'nothing-changed-shows-nothing',
    sentence: 'An update that changes nothing shows no event.',
    source: corpus,
    otherwise: 'Nothing is lost: Convoy reads such a document again.',
    async run(fixture) {
      const events = await updatesOf(fixture, { a: 1, rest }, [
        { $set: { a: 1 } },
        [{ $set: { a: 1 } }],
        { $set: { a: 2 } },
      ]);
      expectSame('updatedFields', valuesOf(valuesOf(events, 'updateDescription') as Document[], 'updatedFields'), [
        { a: 2 },
      ]);
    },
  },
  {
    name: 'keys-hold-the-shard-key',
    sentence:
      'Events of updates, replacements and deletes contain the whole document key, shard key first, on shards ' +
      'and through the router.',
    needs: ['direct', 'twoShards'],
    source: corpus,
    otherwise: 'A write may reach no document, or that of another shard.',
    async run(fixture) {
      const [name, at] = await fixture.filled([{ _id: 1, sk: -1, v: 1 }], fixture.split());
      await fixture.update(name, { sk: -1, _id: 1 }, { $set: { v: 2 } });
      await fixture.update(name, { sk: -1, _id: 1 }, { _id: 1, sk: -1, v: 3 });
      await fixture.remove(name, { sk: -1, _id: 1 });
      for (const on of [fixture.front, fixture.shard]) {
        const { events } = await fixture.read({ on, collection: name, at }, { sk: -1 });
        const keys = events.slice(1).map(({ operationType, documentKey }) => [operationType, documentKey] as unknown);
        expectSame(
          'the keys',
          keys,
          ['update', 'replace', 'delete'].map((operation) => [operation, { sk: -1, _id: 1 }]),
        );
      }
    },
  },
  {
    name: 'insert-keys-on-shards',
    sentence:
      'Before 6.0, the event of an insert on a shard has only _id as its key, later the whole key. Its document ' +
      'contains the key in any case.',
    needs: ['direct', 'twoShards'],
    source: `${corpus}; manual: change events`,
    otherwise: 'Nothing is lost: Convoy takes the key from the document.',
    async run(fixture) {
      const [name, at] = await fixture.filled([{ _id: 1, sk: -1 }], fixture.split());
      const [event] = (await fixture.read({ on: fixture.shard, collection: name, at }, { sk: -1 })).events;
      expectSame('the document', event?.fullDocument, { _id: 1, sk: -1 });
      expectSame('the key', event?.documentKey, fixture.isAtLeast(6, 0, 0) ? { sk: -1, _id: 1 } : { _id: 1 });
    },
  },
  {
    name: 'new-shard-key-on-one-shard',
    sentence: 'A shard-key change that stays on its shard is an update whose key holds the old value.',
    needs: ['direct', 'twoShards'],
    source: corpus,
    otherwise: 'Documents whose shard key changes may be lost.',
    async run(fixture) {
      const [name, at] = await fixture.filled([{ _id: 1, sk: -1 }], fixture.split());
      expectThat('the change succeeds', (await changeKey(fixture, name, -1, -2)).n === 1, null);
      const [, event] = (await fixture.read({ on: fixture.shard, collection: name, at }, { sk: -1 })).events;
      expectSame('operation and key', [event?.operationType, event?.documentKey], ['update', { sk: -1, _id: 1 }]);
    },
  },
  {
    name: 'new-shard-key-on-another-shard',
    sentence:
      'A shard-key change to another shard is a delete there and an insert here, with the same session and number.',
    needs: ['direct', 'twoShards'],
    source: corpus,
    otherwise: 'Documents whose shard key changes may be lost.',
    async run(fixture) {
      const [name, at] = await fixture.filled([{ _id: 1, sk: -1 }], fixture.split());
      expectThat('the change succeeds', (await changeKey(fixture, name, -1, 1)).n === 1, null);
      await fixture.insert(name, [{ _id: 'other end', sk: 2 }]);
      const [, shard, other] = await splitStreams(fixture, name, at);
      await shard?.until(({ events }) => events.some(({ operationType }) => operationType === 'delete'));
      // The reply comes once the commit is decided: a shard may execute its part later.
      await other?.until(({ events }) => events.some(isFirst));
      const left = shard?.events.find(({ operationType }) => operationType === 'delete');
      const arrived = other?.events.find(isFirst);
      expectSame('what the old shard shows', left?.documentKey, { sk: -1, _id: 1 });
      expectSame(
        'what the new shard shows',
        [arrived?.operationType, arrived?.fullDocument],
        ['insert', { _id: 1, sk: 1 }],
      );
      expectSame('session and number', [arrived?.lsid, arrived?.txnNumber], [left?.lsid, left?.txnNumber]);
    },
  },
  {
    name: 'moved-chunks-show-nothing',
    sentence: 'Documents that a chunk migration moves have no events on either shard.',
    needs: ['direct', 'twoShards'],
    source: corpus,
    otherwise: 'Documents that the balancer moves may count as changed.',
    async run(fixture) {
      const name = await fixture.ownSplit([{ _id: 1, sk: -1 }]);
      const at = after(await fixture.now());
      await moveFirst(fixture, name);
      await fixture.insert(name, [{ _id: 2, sk: 1 }]);
      const [front, , other] = await splitStreams(fixture, name, at);
      for (const stream of [front, other]) {
        await stream?.until(({ events }) => events.some(({ documentKey }) => (documentKey as Document)._id === 2));
        expectSame('the events', valuesOf(stream?.events ?? [], 'fullDocument'), [{ _id: 2, sk: 1 }]);
      }
    },
  },
  {
    name: 'moved-documents-are-read-once',
    sentence: 'After a chunk migration the router shows each document once, from the shard that owns it.',
    needs: ['direct', 'twoShards'],
    source: 'corpus 13-orphans',
    otherwise: 'Orphans may be copied, or moved documents left out.',
    async run(fixture) {
      const name = await fixture.ownSplit([{ _id: 1, sk: -1 }]);
      await moveFirst(fixture, name);
      expectSame('through the router', await fixture.rows({ find: name }), [{ _id: 1, sk: -1 }]);
      expectSame('on its new shard', await fixture.rows({ find: name }, fixture.otherShard), [{ _id: 1, sk: -1 }]);
    },
  },
];

/** Moves the document with `sk` -1 to the other shard. The remaining chunks keep the shards in balance. */
async function moveFirst(fixture: Fixture, name: string): Promise<void> {
  await fixture.splitAt(name, -10);
  await fixture.move(name, -1, 1);
}

function isFirst({ documentKey }: Document): boolean {
  return (documentKey as Document)._id === 1;
}

/** Changes a shard key in a transaction, as drivers do. */
async function changeKey(fixture: Fixture, name: string, from: number, to: number): Promise<Document> {
  const session = fixture.session();
  const reply = await session.begin({ update: name, updates: [{ q: { sk: from, _id: 1 }, u: { $set: { sk: to } } }] });
  await session.commit();
  return reply;
}

function sorted(fields: Document): Document {
  return Object.fromEntries(Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1)));
}
