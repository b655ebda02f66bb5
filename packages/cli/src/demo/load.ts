import type { Document, MongoClient } from 'mongodb';
import { administrativeRegions, countries, measurements, placeCount, places, regionCount } from './dataset.js';

/** Documents per insert command: below 2 MB at about 1 kB each. */
const batchDocuments = 1_000;
/** Concurrent insert commands: enough to keep a router busy. */
const parallelBatches = 4;
/** Chunks per shard of the collection sharded by range. */
const rangeChunksPerShard = 4;
/** Maximum of the capped collection, below the number of inserts, so that it overflows. */
const changesKept = 0.8;
const changesBytes = 4 * 1024 * 1024;
const changesInserted = 25_000;
/** Minimum part of measurements in a demo; the workload writes to them. */
const measurementsMin = 0.1;

/** The source's data. */
export interface Loaded {
  documents: number;
  collections: number;
}

/** Number of documents of each kind in a demo. */
export interface DemoSizes {
  places: number;
  regions: number;
  changes: number;
  measurements: number;
}

/** All places and regions, and measurements for the rest; a small demo has a part of each. */
export function demoSizes(documents: number): DemoSizes {
  const whole = placeCount + regionCount + changesInserted;
  const part = Math.min(1, (documents * (1 - measurementsMin)) / whole);
  const [places, regions, changes] = [
    Math.floor(placeCount * part),
    Math.floor(regionCount * part),
    Math.floor(changesInserted * part),
  ];
  return { places, regions, changes, measurements: documents - places - regions - changes };
}

/**
 * Creates and fills the demo's databases on an empty cluster: collections sharded by range and by hash, an unsharded
 * and a capped one, a view, secondary, unique and geospatial indexes.
 * @param onProgress receives the number of inserted documents
 */
export async function loadDemoData(
  client: MongoClient,
  shardIds: readonly string[],
  sizes: DemoSizes,
  onProgress: (inserted: number) => void,
): Promise<Loaded> {
  await client.db('admin').command({ balancerStop: 1 });
  await createCollections(client, shardIds, sizes);
  let inserted = 0;
  const fill = async (database: string, collection: string, source: Iterable<Document>, parallel = parallelBatches) => {
    const target = client.db(database).collection(collection);
    await inBatches(source, parallel, async (batch) => {
      await target.insertMany(batch, { ordered: parallel === 1 });
      inserted += batch.length;
      onProgress(inserted);
    });
  };
  await fill('geo', 'places', places(sizes.places));
  await fill('geo', 'regions', administrativeRegions(sizes.regions));
  await fill('geo', 'changes', changes(sizes.changes), 1);
  await fill('climate', 'measurements', measurements(sizes.measurements));
  return { documents: inserted, collections: 5 };
}

async function createCollections(client: MongoClient, shardIds: readonly string[], sizes: DemoSizes): Promise<void> {
  const admin = client.db('admin');
  const geo = client.db('geo');
  const climate = client.db('climate');
  await admin.command({ enableSharding: 'geo' });
  await admin.command({ enableSharding: 'climate' });
  await admin.command({ shardCollection: 'geo.places', key: { country: 1, name: 1 } });
  await spreadByCountry(client, shardIds);
  await admin.command({
    shardCollection: 'climate.measurements',
    key: { _id: 'hashed' },
    numInitialChunks: 2 * shardIds.length,
  });
  await geo.createCollection('regions', { validator: { code: { $type: 'string' } } });
  await geo.createCollection('changes', {
    capped: true,
    size: changesBytes,
    max: Math.ceil(sizes.changes * changesKept),
  });
  await geo.createCollection('northern_places', {
    viewOn: 'places',
    pipeline: [{ $match: { 'location.coordinates.1': { $gte: 0 } } }],
  });
  await geo.collection('places').createIndexes([{ key: { location: '2dsphere' } }, { key: { region: 1, name: 1 } }]);
  await geo
    .collection('regions')
    .createIndexes([{ key: { code: 1 }, unique: true }, { key: { country: 1, level: -1 } }]);
  await climate
    .collection('measurements')
    .createIndexes([
      { key: { place: 1, year: -1 } },
      { key: { revision: 1 }, partialFilterExpression: { revision: { $gt: 0 } } },
    ]);
}

/** Splits the country codes into ranges with similar numbers of places and distributes them. */
async function spreadByCountry(client: MongoClient, shardIds: readonly string[]): Promise<void> {
  const admin = client.db('admin');
  const boundaries = evenBoundaries(countries(), rangeChunksPerShard * shardIds.length);
  for (const country of boundaries) await admin.command({ split: 'geo.places', middle: { country, name: '' } });
  const config = client.db('config');
  const { uuid, primary } = await homeOf(client, 'geo', 'places');
  // Before 5.0 chunks name their collection; later they have its UUID.
  const chunks = await config
    .collection('chunks')
    .find({ $or: [{ uuid }, { ns: 'geo.places' }] })
    .sort({ min: 1 })
    .toArray();
  for (const [index, chunk] of chunks.entries()) {
    const to = shardIds[index % shardIds.length] ?? primary;
    if (chunk['shard'] !== to)
      await admin.command({ moveChunk: 'geo.places', bounds: [chunk['min'], chunk['max']], to });
  }
}

async function homeOf(
  client: MongoClient,
  database: string,
  collection: string,
): Promise<{ uuid: unknown; primary: string }> {
  const config = client.db('config');
  const [entry, home] = await Promise.all([
    config.collection<{ _id: string; uuid: unknown }>('collections').findOne({ _id: `${database}.${collection}` }),
    config.collection<{ _id: string; primary: string }>('databases').findOne({ _id: database }),
  ]);
  if (entry === null || home === null) throw new Error(`${database}.${collection} is not sharded.`);
  return { uuid: entry.uuid, primary: home.primary };
}

/** The keys, in order, at which the running count passes each of the `parts - 1` inner boundaries. */
function evenBoundaries(counts: ReadonlyMap<string, number>, parts: number): string[] {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const boundaries: string[] = [];
  let seen = 0;
  for (const [key, count] of counts) {
    if (seen >= (total * (boundaries.length + 1)) / parts) boundaries.push(key);
    seen += count;
  }
  return boundaries;
}

function* changes(count: number): Generator<Document> {
  for (let number = 0; number < count; number += 1)
    yield { _id: number, at: new Date(Date.UTC(2024, 0, 1) + number * 60_000), what: 'import', batch: number >> 6 };
}

/** Emits the documents in batches, at most `parallel` at a time. */
async function inBatches(
  source: Iterable<Document>,
  parallel: number,
  insert: (batch: Document[]) => Promise<void>,
): Promise<void> {
  const iterator = source[Symbol.iterator]();
  const worker = async () => {
    for (;;) {
      const batch: Document[] = [];
      for (let next; batch.length < batchDocuments && !(next = iterator.next()).done;) batch.push(next.value);
      if (batch.length === 0) return;
      await insert(batch);
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}
