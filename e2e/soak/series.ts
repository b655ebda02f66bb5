import { BSON, type Document } from 'mongodb';
import type { User } from './user.js';

/** A time series of users, with the time `at`. */
export interface Series {
  readonly name: string;
  /** Of its `create`. */
  readonly options: Document;
  /** Shard key in the terms of measurements; null: not sharded. */
  readonly key: Document | null;
}

const timeseries = { timeField: 'at', metaField: 'sensor' } as const;

/** A series whose measurements have the metadata `sensor`. */
export function seriesOfSensors(name: string, key: Document | null): Series {
  return { name, options: { timeseries }, key };
}

/** Time series of random histories; the stage of each chooses some. */
export const historySeries: readonly Series[] = [
  seriesOfSensors('readings', null),
  seriesOfSensors('byMeta', { sensor: 1 }),
  seriesOfSensors('byMetaAndTime', { sensor: 1, at: 1 }),
  { name: 'bare', options: { timeseries: { timeField: 'at', granularity: 'minutes' } }, key: null },
  {
    name: 'aged',
    options: { timeseries, expireAfterSeconds: 1_000_000_000, collation: { locale: 'en', strength: 2 } },
    key: null,
  },
];

/** The collection in which a series is stored. */
export const bucketsOf = (series: string): string => `system.buckets.${series}`;

/** The first bucket of the second half, by its metadata. */
const middle = 4;
/** A value of the metadata in the second half. */
const inSecondHalf = 6;

/** @throws RefusedByServer */
export async function makeSeries({ name, options, key }: Series, database: string, user: User): Promise<void> {
  await user.command(database, { create: name, ...options });
  if (key !== null) await user.command('admin', { shardCollection: `${database}.${name}`, key });
}

/**
 * Makes series before a migration: a sharded one has a part on each of two shards, where there are as many.
 * @throws RefusedByServer
 */
export async function placeSeries(series: Series, database: string, user: User): Promise<void> {
  await makeSeries(series, database, user);
  const { name, key } = series;
  if (key === null) return;
  const buckets = `${database}.${bucketsOf(name)}`;
  const at = (meta: number): Document => ({ meta, ...('at' in key ? { 'control.min.at': new Date(0) } : {}) });
  await user.command('admin', { split: buckets, middle: at(middle) });
  const [placed] = await user.documents('config', { find: 'databases', filter: { _id: database } });
  const shards = await user.documents('config', { find: 'shards', sort: { _id: 1 } });
  const other = shards.find(({ _id }) => _id !== placed?.['primary']);
  if (other !== undefined)
    await user.command('admin', { moveChunk: buckets, find: at(inSecondHalf), to: other['_id'] as unknown });
}

/** Names of the time series of a database. */
export async function seriesNames(database: string, user: User): Promise<string[]> {
  const listed = await user.documents(database, { listCollections: 1, filter: { type: 'timeseries' } });
  return listed.map(({ name }) => String(name)).sort();
}

/**
 * Goes on as an application does after a migration: each series takes a measurement into a bucket that is there, and
 * is valid on every shard then.
 * @returns what is wrong
 */
export async function wrongAfterMore(database: string, user: User): Promise<string[]> {
  const wrong: string[] = [];
  for (const name of await seriesNames(database, user)) {
    const [known] = await user.documents(database, { find: name, limit: 1 });
    const more = { ...known, _id: new BSON.ObjectId() };
    if (known !== undefined) await user.command(database, { insert: name, documents: [more] });
    const checked = await user.command(database, { validate: bucketsOf(name) });
    if (checked['valid'] !== true) wrong.push(`${database}.${name} is not valid: ${BSON.EJSON.stringify(checked)}`);
  }
  return wrong;
}
