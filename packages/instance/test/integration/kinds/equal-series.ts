import type { Db, Document } from 'mongodb';
import { expect } from 'vitest';
import type { Fixture } from '../contract/fixture.js';
import { documentsOf } from './equal-databases.js';

type Names = readonly string[];

async function namesOf(db: Db, type: string): Promise<Names> {
  const listed = await db.listCollections<{ name: string; type: string }>({ type }).toArray();
  return listed.map(({ name }) => name).sort();
}

async function indexesOf(db: Db, name: string): Promise<Document[]> {
  const listed = (await db.collection(name).listIndexes().toArray()) as Document[];
  return listed.sort((a, b) => (a['name'] < b['name'] ? -1 : 1));
}

/** As users know them; a `collMod` that hides or shows one changes the index of the buckets alone (8.0.10). */
const asWritten = ({ hidden: _, ...index }: Document): Document => index;

/** As buckets have them. */
const asBuilt = ({ originalSpec, ...index }: Document): Document => ({
  ...index,
  ...(originalSpec !== undefined && { originalSpec: asWritten(originalSpec as Document) }),
});

const bucketsName = (name: string): string => `system.buckets.${name}`;

/** The buckets of a time series, as text of their bytes. */
export function bucketsOf({ client, databaseName }: Db, name: string): ReturnType<typeof documentsOf> {
  return documentsOf(client, databaseName, bucketsName(name), false);
}

/**
 * Everything about the time series of a database, and about its views: options, indexes under both names, and buckets
 * as text of their bytes.
 */
export async function seriesOf(db: Db): Promise<Document> {
  const found: Document = {};
  const listed = await db.listCollections<{ name: string; options: Document }>({}, { nameOnly: false }).toArray();
  const options = new Map(listed.map((one) => [one.name, one.options]));
  for (const name of await namesOf(db, 'view')) found[name] = { options: options.get(name) };
  for (const name of await namesOf(db, 'timeseries')) {
    found[name] = {
      options: options.get(name),
      indexes: (await indexesOf(db, name)).map(asWritten),
      ofBuckets: (await indexesOf(db, bucketsName(name))).map(asBuilt),
      buckets: await bucketsOf(db, name),
      measurements: (await documentsOf(db.client, db.databaseName, name, false)).length,
    };
  }
  return found;
}

/** What `validate` says against the time series of a database, on every shard. */
async function complaintsOf(db: Db): Promise<Document[]> {
  const complaints: Document[] = [];
  for (const name of await namesOf(db, 'timeseries')) {
    const checked = await db.command({ validate: bucketsName(name), full: true });
    if (checked['valid'] !== true) complaints.push({ name, checked });
  }
  return complaints;
}

/** Both clusters have the same time series and views in a database, there are some, and all are valid. */
export async function expectEqualSeries(
  { cluster0, cluster1 }: Record<'cluster0' | 'cluster1', Pick<Fixture['cluster0'], 'client'>>,
  database: string,
  there = database,
): Promise<void> {
  const [source, destination] = [cluster0.client.db(database), cluster1.client.db(there)];
  const wanted = await seriesOf(source);
  expect(Object.keys(wanted)).not.toEqual([]);
  expect(await seriesOf(destination)).toEqual(wanted);
  expect(await complaintsOf(destination)).toEqual([]);
}

/**
 * An application goes on at the destination: each series takes what it has once more, into buckets that were copied or
 * into new ones, and stays valid.
 */
export async function expectGoesOn(db: Db): Promise<void> {
  for (const name of await namesOf(db, 'timeseries')) {
    const measured = db.collection(name);
    const known = await measured.find({}, { promoteValues: false, bsonRegExp: true, limit: 200 }).toArray();
    const count = await measured.countDocuments();
    await measured.insertMany(
      known.map(({ _id, ...others }) => others),
      { ordered: false, ignoreUndefined: false },
    );
    expect({ name, count: await measured.countDocuments() }).toEqual({ name, count: count + known.length });
  }
  expect(await complaintsOf(db)).toEqual([]);
}
