import type { Document, Timestamp } from 'mongodb';
import { expectDone, expectSame, expectThat, shown, valuesOf } from '../framework/expectation.js';
import type { Fixture } from '../framework/fixture.js';
import type { Probe } from '../framework/probe.js';
import { at } from '../reads/reads-at-a-time.js';

/** Buckets of time series are shown by streams, and sorted by `_id` in bounds, from this release on. */
const from = [6, 0, 0] as const;
const source = 'server 8.0.10: change streams with showSystemEvents, timeseries';
const begin_ms = Date.UTC(2024, 0, 1);
const day_ms = 86_400_000;

const bucketsOf = (series: string): string => `system.buckets.${series}`;
const onDay = (day: number): Date => new Date(begin_ms + day * day_ms);

async function series(fixture: Fixture, days = 0, more: Document = {}): Promise<string> {
  const name = await fixture.collection([], { timeseries: { timeField: 't', metaField: 'm' }, ...more });
  for (let day = 0; day < days; day += 1) await fixture.insert(name, [{ t: onDay(day), m: day, v: day }]);
  return name;
}

const bucketsIn = (fixture: Fixture, name: string, more: Document = {}): Promise<Document[]> =>
  fixture.rows({ find: bucketsOf(name), sort: { _id: 1 }, ...more });

const measurementsIn = (fixture: Fixture, name: string): Promise<Document[]> =>
  fixture.rows({ find: name, sort: { t: 1 }, projection: { _id: 0 } });

/** Operations on a series and on its buckets that a stream of the cluster shows. */
async function operationsOf(fixture: Fixture, name: string, since: Timestamp, stage: Document): Promise<string[]> {
  const pipeline = [{ $match: { 'ns.db': fixture.db } }];
  const of = { at: since, database: 'admin', pipeline, stage: { allChangesForCluster: true, ...stage } };
  const { events } = await fixture.read(of);
  return events.flatMap(({ operationType, ns }) => {
    const { coll } = ns as { coll: string };
    return coll === name || coll === bucketsOf(name) ? [`${operationType as string} ${coll}`] : [];
  });
}

/** Inserts the buckets of a series into those of a new one. @returns its name */
async function copied(fixture: Fixture, name: string): Promise<string> {
  const to = await series(fixture);
  const documents = await bucketsIn(fixture, name);
  expectDone('the insert of buckets', await fixture.ask({ insert: bucketsOf(to), documents }));
  return to;
}

/** Time series as their buckets. */
export const timeSeries: readonly Probe[] = [
  {
    name: 'buckets-in-streams',
    sentence:
      'A stream of the cluster with showSystemEvents shows each new, changed and deleted bucket of a time series; ' +
      'one without it shows none.',
    from,
    source,
    otherwise: 'Changes of time series cannot be followed.',
    async run(fixture) {
      const name = await series(fixture);
      const since = await fixture.insert(name, [{ t: onDay(0), m: 1, v: 1 }]);
      await fixture.insert(name, [{ t: onDay(0), m: 1, v: 2 }]);
      await fixture.done({ delete: name, deletes: [{ q: { m: 1 }, limit: 0 }] });
      const buckets = bucketsOf(name);
      expectSame('with it', await operationsOf(fixture, name, since, { showSystemEvents: true }), [
        `insert ${buckets}`,
        `update ${buckets}`,
        `delete ${buckets}`,
      ]);
      expectSame('without it', await operationsOf(fixture, name, since, {}), []);
    },
  },
  {
    name: 'series-in-streams',
    sentence:
      'A stream with showSystemEvents shows the drop of a time series for its buckets too, and a changed granularity ' +
      'as a change of these.',
    from,
    source,
    otherwise: 'A dropped or changed time series may be noticed late.',
    async run(fixture) {
      const name = await series(fixture, 1);
      const since = await fixture.now();
      await fixture.done({ collMod: name, timeseries: { granularity: 'minutes' } });
      await fixture.done({ drop: name });
      const stage = { showSystemEvents: true, showExpandedEvents: true };
      const seen = await operationsOf(fixture, name, since, stage);
      for (const wanted of [`modify ${bucketsOf(name)}`, `drop ${bucketsOf(name)}`])
        expectThat(wanted, seen.includes(wanted), seen);
    },
  },
  {
    name: 'buckets-at-a-time',
    sentence:
      'A find at a time, by name and on members by UUID too, shows the buckets of that time, in bounds and in the ' +
      'order of _id.',
    from,
    source,
    otherwise: 'Copied buckets and change events may not fit together.',
    async run(fixture) {
      const name = await series(fixture, 4);
      const [first, second, third] = await bucketsIn(fixture, name);
      const time = await fixture.now();
      await fixture.done({ delete: bucketsOf(name), deletes: [{ q: { _id: second?._id as unknown }, limit: 1 }] });
      const bounds = { hint: { _id: 1 }, min: { _id: first?._id as unknown }, max: { _id: third?._id as unknown } };
      const find = { sort: { _id: 1 }, ...bounds, ...at(time) };
      await fixture.expectRows('the buckets of the time', { find: bucketsOf(name), ...find }, [first, second]);
      const uuid = await fixture.uuid(bucketsOf(name));
      for (const on of fixture.everywhere.filter((each) => each !== fixture.front || !fixture.isSharded))
        expectSame(`by UUID, on ${on.name}`, await fixture.rows({ find: uuid, ...find }, on), [first, second]);
    },
  },
  {
    name: 'buckets-are-written',
    sentence:
      'Clients insert, replace and delete buckets as documents, and the time series has the measurements that these ' +
      'hold.',
    from,
    source,
    otherwise: 'Time series cannot be migrated.',
    async run(fixture) {
      const name = await series(fixture, 3);
      const to = await copied(fixture, name);
      expectSame('the buckets', await bucketsIn(fixture, to), await bucketsIn(fixture, name));
      expectSame('the measurements', await measurementsIn(fixture, to), await measurementsIn(fixture, name));
      await fixture.insert(name, [{ t: onDay(0), m: 0, v: 7 }]);
      const [longer, ...others] = await bucketsIn(fixture, name);
      const last = others.pop();
      await fixture.update(bucketsOf(to), { _id: longer?._id as unknown }, longer ?? {});
      await fixture.remove(bucketsOf(to), { _id: last?._id as unknown });
      expectSame('the buckets after a replacement and a delete', await bucketsIn(fixture, to), [longer, ...others]);
    },
  },
  {
    name: 'foreign-buckets-take-measurements',
    sentence: 'A time series whose buckets a client has written takes new measurements, and is valid then.',
    from,
    source,
    otherwise: 'Applications may damage a migrated time series.',
    async run(fixture) {
      const to = await copied(fixture, await series(fixture, 2));
      for (let n = 1; n <= 3; n += 1) await fixture.insert(to, [{ t: new Date(begin_ms + n * 1_000), m: 0, v: n }]);
      const rows = await measurementsIn(fixture, to);
      expectSame('the values', valuesOf(rows, 'v'), [0, 1, 2, 3, 1]);
      const { valid } = await fixture.done({ validate: bucketsOf(to), full: true }, fixture.everywhere.at(-1));
      expectSame('its validity', valid, true);
    },
  },
  {
    name: 'series-definitions',
    sentence:
      'listCollections shows the options of a time series with its buckets, and listIndexes shows its indexes under ' +
      'its own name as users wrote them.',
    from,
    source,
    otherwise: 'Time series may have other options or indexes than on the source.',
    async run(fixture) {
      const name = await series(fixture, 0, { expireAfterSeconds: 1_000_000_000 });
      await fixture.index(name, { key: { 'm.a': 1, t: -1 }, name: 'wanted' });
      const options = (await fixture.listed(bucketsOf(name)))?.options as Document | undefined;
      const { timeField, metaField } = (options?.timeseries ?? {}) as Document;
      expectSame('the fields', [timeField, metaField, options?.expireAfterSeconds], ['t', 'm', 1_000_000_000]);
      const indexes = await fixture.rows({ listIndexes: name });
      const wanted = indexes.find((index) => index.name === 'wanted');
      expectSame('the key of the index', wanted?.key, { 'm.a': 1, t: -1 });
    },
  },
  {
    name: 'sharded-buckets',
    sentence:
      'A time series is sharded under its own name, split and moved under that of its buckets, and a bucket is ' +
      'upserted through the router by the whole shard key.',
    from,
    needs: ['twoShards'],
    source,
    otherwise: 'Sharded time series may be spread wrongly, or not be written.',
    async run(fixture) {
      const name = await series(fixture);
      await fixture.adminDone({ shardCollection: `${fixture.db}.${name}`, key: { m: 1, t: 1 } });
      const buckets = bucketsOf(name);
      const key = (await fixture.sharding(buckets))?.key as unknown;
      expectSame('the shard key', key, { meta: 1, 'control.min.t': 1 });
      const middle = { meta: 1, 'control.min.t': onDay(0) };
      await fixture.adminDone({ split: `${fixture.db}.${buckets}`, middle });
      // Both: one of them is not where it goes.
      for (const [shard, find] of [{ ...middle, meta: 0 }, middle].entries())
        await fixture.adminDone({ moveChunk: `${fixture.db}.${buckets}`, find, to: fixture.shardIds[shard] ?? '' });
      await fixture.insert(name, [
        { t: onDay(0), m: 0, v: 0 },
        { t: onDay(1), m: 2, v: 2 },
      ]);
      const [bucket] = await bucketsIn(fixture, name, { filter: { meta: 2 } });
      await fixture.remove(buckets, { _id: bucket?._id as unknown, meta: 2, 'control.min.t': onDay(1) });
      const q = { meta: { $eq: 2 }, 'control.min.t': { $eq: onDay(1) }, _id: { $eq: bucket?._id as unknown } };
      const reply = await fixture.ask({ update: buckets, updates: [{ q, u: bucket, upsert: true }] });
      expectDone(`the upsert of ${shown(q)}`, reply);
      expectSame('the buckets', await bucketsIn(fixture, name, { filter: { meta: 2 } }), [bucket]);
    },
  },
];
