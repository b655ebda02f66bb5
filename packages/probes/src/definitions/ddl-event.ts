import type { Document, Timestamp } from 'mongodb';
import { expectSame, expectThat, valuesOf } from '../framework/expectation.js';
import type { Probe } from '../framework/probe.js';
import { type Fixture, oneOnEachShard } from '../framework/fixture.js';

const corpus = 'corpus 05-events-ddl';
const expanded = { showExpandedEvents: true };
const manual = 'manual: change events, showExpandedEvents';

/** Operations that a stream of the scratch database shows for one collection and its later names. */
async function shownOf(
  fixture: Fixture,
  at: Timestamp,
  names: readonly string[],
  stage: Document = {},
): Promise<Document[]> {
  const { events } = await fixture.read({ at, stage });
  return events.filter(({ ns }) => names.includes((ns as { coll?: string } | undefined)?.coll ?? ''));
}

/** How often a stream shows an operation of a collection. */
async function copies(fixture: Fixture, name: string, operation: string, at: Timestamp): Promise<number> {
  return valuesOf(await shownOf(fixture, at, [name]), 'operationType').filter((one) => one === operation).length;
}

/** Checks that a command gives a collection a new UUID, and that the stream shows a rename over it. */
async function expectMadeAnew(fixture: Fixture, name: string, command: Document): Promise<void> {
  const [before, at] = [String(await fixture.uuid(name)), await fixture.now()];
  await fixture.done(command);
  expectThat('another UUID', String(await fixture.uuid(name)) !== before, before);
  const { events } = await fixture.read({ at });
  const isOver = ({ operationType, to }: Document): boolean =>
    operationType === 'rename' && (to as { coll: string }).coll === name;
  expectThat('a rename over it', events.some(isOver), valuesOf(events, 'operationType'));
}

/** Events of DDL changes. */
export const ddlEvents: readonly Probe[] = [
  {
    name: 'drop-and-rename-are-shown',
    sentence: 'A stream of a database shows renames with the new name, and drops, and continues after them.',
    source: corpus,
    otherwise: 'Renamed and dropped collections may arrive under their old names.',
    async run(fixture) {
      const name = await fixture.collection();
      const to = fixture.newName();
      const at = await fixture.insert(name, [{ _id: 1 }]);
      await fixture.adminDone({ renameCollection: `${fixture.db}.${name}`, to: `${fixture.db}.${to}` });
      await fixture.done({ drop: to });
      const events = await shownOf(fixture, at, [name, to]);
      expectSame('the operations', valuesOf(events, 'operationType'), ['insert', 'rename', 'drop']);
      expectSame('the new name', events[1]?.to, { db: fixture.db, coll: to });
    },
  },
  {
    name: 'rename-over-a-target',
    sentence:
      'A rename over another collection is shown with the UUID of the renamed one, and the target loses its name.',
    source: corpus,
    otherwise: 'A collection that was overwritten may remain.',
    async run(fixture) {
      const [name, target] = [await fixture.collection(), await fixture.collection([{ _id: 1 }])];
      const uuid = await fixture.uuid(name);
      const at = await fixture.insert(name, [{ _id: 2 }]);
      await fixture.rename(name, target, { dropTarget: true });
      const events = await shownOf(fixture, at, [name]);
      expectSame('the operations', valuesOf(events, 'operationType'), ['insert', 'rename']);
      expectSame('the UUID under the name', await fixture.uuid(target), uuid);
    },
  },
  {
    name: 'drops-of-sharded-collections',
    sentence: 'The drop of a sharded collection is shown once per shard before 6.3, and once from then on.',
    needs: ['twoShards'],
    source: `${corpus}; SERVER-71085`,
    otherwise: 'Drops may be applied before all shards have dropped, or wait in vain.',
    async run(fixture) {
      const name = await fixture.ownSplit(oneOnEachShard);
      const at = await fixture.now();
      await fixture.done({ drop: name });
      expectSame('drops that are shown', await copies(fixture, name, 'drop', at), fixture.isAtLeast(6, 3, 0) ? 1 : 2);
    },
  },
  {
    name: 'renames-of-sharded-collections',
    sentence: 'The rename of a sharded collection is shown once per shard before 7.0, and once from then on.',
    needs: ['twoShards'],
    source: `${corpus}; SERVER-71365`,
    otherwise: 'Renames may be applied before all shards have renamed, or wait in vain.',
    async run(fixture) {
      const name = await fixture.ownSplit(oneOnEachShard);
      const at = await fixture.now();
      await fixture.rename(name);
      expectSame(
        'renames that are shown',
        await copies(fixture, name, 'rename', at),
        fixture.isAtLeast(7, 0, 0) ? 1 : 2,
      );
    },
  },
  {
    name: 'convert-to-capped-is-a-rename',
    sentence: 'convertToCapped gives the collection a new UUID, and is shown as a rename of a temporary one over it.',
    topology: 'replicaSet',
    source: corpus,
    otherwise: 'A recreated collection may be mistaken for the old one.',
    async run(fixture) {
      const name = await fixture.collection([{ _id: 1 }]);
      await expectMadeAnew(fixture, name, { convertToCapped: name, size: 65_536 });
    },
  },
  {
    name: 'out-is-a-rename',
    sentence: '$out gives its target a new UUID, and is shown as a rename of a temporary collection over it.',
    source: corpus,
    otherwise: 'A recreated collection may be mistaken for the old one.',
    async run(fixture) {
      const [name, target] = [await fixture.collection([{ _id: 1 }]), await fixture.collection([{ _id: 2 }])];
      await expectMadeAnew(fixture, target, { aggregate: name, pipeline: [{ $out: target }], cursor: {} });
    },
  },
  {
    name: 'drop-database-shows-its-drops',
    sentence: 'dropDatabase is shown as a drop for each collection, and then as dropDatabase.',
    source: corpus,
    otherwise: 'Collections of a dropped database may remain.',
    async run(fixture) {
      const db = `${fixture.db}_dropped`;
      const { operationTime: at } = await fixture.done({ create: 'a' }, fixture.front, db);
      await fixture.done({ create: 'b' }, fixture.front, db);
      const stream = await fixture.stream({ database: db, at: at as Timestamp });
      await fixture.done({ dropDatabase: 1 }, fixture.front, db);
      await stream.until(({ events }) => events.some(({ operationType }) => operationType === 'dropDatabase'));
      const seen = stream.events.map(
        ({ operationType, ns }) =>
          [operationType, (ns as { coll?: string } | undefined)?.coll] as [string, string | undefined],
      );
      expectSame(
        'the drops',
        seen
          .filter(([operation]) => operation === 'drop')
          .map(([, coll]) => coll)
          .sort(),
        ['a', 'b'],
      );
      expectThat('dropDatabase after them', seen.findIndex(([operation]) => operation === 'dropDatabase') >= 2, seen);
    },
  },
  {
    name: 'definitions-are-not-shown',
    sentence: 'Before 6.0 streams show neither new collections nor changes of indexes and options.',
    below: [6, 0, 0],
    source: corpus,
    otherwise: 'Nothing is lost: Convoy compares both catalogs.',
    async run(fixture) {
      const at = await fixture.now();
      const name = await runDdl(fixture);
      expectSame('the operations', valuesOf(await shownOf(fixture, at, [name]), 'operationType'), []);
    },
  },
  {
    name: 'definitions-are-shown',
    sentence: 'With showExpandedEvents streams show new collections and changes of indexes and options.',
    from: [6, 0, 0],
    source: manual,
    otherwise: 'New collections and indexes may arrive late.',
    async run(fixture) {
      const at = await fixture.now();
      const name = await runDdl(fixture);
      expectSame('the operations', valuesOf(await shownOf(fixture, at, [name], expanded), 'operationType'), [
        'create',
        'createIndexes',
        'modify',
        'dropIndexes',
      ]);
    },
  },
  {
    name: 'create-brings-options-and-uuid',
    sentence: 'The event of a new collection contains its options and its UUID.',
    from: [6, 0, 0],
    source: manual,
    otherwise: 'Convoy may create new collections with other options.',
    async run(fixture) {
      const at = await fixture.now();
      const name = await fixture.collection([], { capped: true, size: 65_536 });
      const [event] = await shownOf(fixture, at, [name], expanded);
      const { capped, size } = (event?.operationDescription ?? {}) as Document;
      expectSame('capped and size', [capped, size], [true, 65_536]);
      expectSame('collectionUUID', event?.collectionUUID, await fixture.uuid(name));
    },
  },
  {
    name: 'shard-collection-is-shown',
    sentence: 'Sharding a collection is shown with its key, once.',
    topology: 'sharded',
    from: [6, 0, 0],
    source: manual,
    otherwise: 'A collection that is sharded may stay unsharded on the destination.',
    async run(fixture) {
      const name = await fixture.collection();
      const at = await fixture.now();
      await fixture.adminDone({ shardCollection: `${fixture.db}.${name}`, key: { sk: 1 } });
      const found = (await shownOf(fixture, at, [name], expanded)).filter(
        ({ operationType }) => operationType === 'shardCollection',
      );
      expectSame(
        'the keys',
        found.map(({ operationDescription }) => (operationDescription as Document).shardKey as unknown),
        [{ sk: 1 }],
      );
    },
  },
  {
    name: 'refined-keys-are-shown',
    sentence: 'A refined shard key is shown with the new and the old key.',
    topology: 'sharded',
    from: [7, 0, 0],
    source: manual,
    otherwise: 'A refined shard key may be found late.',
    async run(fixture) {
      const name = await fixture.collection();
      await fixture.adminDone({ shardCollection: `${fixture.db}.${name}`, key: { a: 1 } });
      await fixture.index(name, { key: { a: 1, b: 1 }, name: 'a_1_b_1' });
      const at = await fixture.now();
      await fixture.adminDone({ refineCollectionShardKey: `${fixture.db}.${name}`, key: { a: 1, b: 1 } });
      const found = (await shownOf(fixture, at, [name], expanded)).filter(
        ({ operationType }) => operationType === 'refineCollectionShardKey',
      );
      expectSame(
        'the keys',
        found.map(({ operationDescription: { shardKey, oldShardKey } }) => [shardKey, oldShardKey] as unknown),
        [[{ a: 1, b: 1 }, { a: 1 }]],
      );
    },
  },
  {
    name: 'views-are-shown',
    sentence: 'A new view is shown to streams of its database, with what it reads.',
    from: [6, 0, 0],
    source: manual,
    otherwise: 'New views may arrive late.',
    async run(fixture) {
      const at = await fixture.now();
      const name = await fixture.collection([], { viewOn: 'any', pipeline: [] });
      const [event] = await shownOf(fixture, at, [name], expanded);
      const { viewOn } = (event?.operationDescription ?? {}) as Document;
      expectSame('operation and viewOn', [event?.operationType, viewOn], ['create', 'any']);
    },
  },
  {
    name: 'drops-of-views-name-no-uuid',
    sentence: 'The drop of a view is shown without a UUID of its own.',
    from: [6, 0, 0],
    source: 'server tests: change events of views',
    otherwise: 'The drop of a view may be mistaken for that of a collection.',
    async run(fixture) {
      const name = await fixture.collection([], { viewOn: 'any', pipeline: [] });
      const at = await fixture.now();
      await fixture.done({ drop: name });
      const dropped = (await shownOf(fixture, at, [name], expanded)).filter(
        ({ operationType }) => operationType === 'drop',
      );
      expectSame('UUIDs of the drops', valuesOf(dropped, 'collectionUUID'), [undefined]);
    },
  },
];

/** Creates a collection and an index, hides the index and drops it. @returns the collection's name */
async function runDdl(fixture: Fixture): Promise<string> {
  const name = await fixture.collection();
  await fixture.index(name, { key: { a: 1 }, name: 'a_1' });
  await fixture.done({ collMod: name, index: { name: 'a_1', hidden: true } });
  await fixture.done({ dropIndexes: name, index: 'a_1' });
  return name;
}
