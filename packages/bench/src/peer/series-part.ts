import { type Document, type MongoClient, ObjectId } from 'mongodb';
import { type BenchmarkContext, median, type Row, rowMaker } from '../benchmark.js';
import { BenchClusters } from '../copy/bench-clusters.js';
import { benchNamespace, inBatches } from '../copy/bench-documents.js';
import type { LoopRange } from '../copy/loop-order.js';
import { secondsOf } from '../process-usage.js';
import { compareCopies } from './copy-part.js';
import { copyRows, type SizeCompared } from './copy-rows.js';
import type { ToolKind } from './migration-tool.js';

const name = 'time series';
const measurements = 5_000_000;
const begin_ms = Date.UTC(2026, 0, 1);
/** Each measures this often. */
const interval_ms = 10_000;
const sensors = 1_000;
/** One insert has measurements of so many sensors at so many times, as a gateway sends them. */
const perInsert = { sensors: 100, times: 10 } as const;
const parallelInserts = 4;
/** Promised part of the bare loop's rate, as of documents of this size. */
const goals = { ofBareLoopMin: 0.85 } as const;

const series = { timeseries: { timeField: 'at', metaField: 'sensor' } } as const;
const { database, collection } = benchNamespace;
const buckets = `system.buckets.${collection}`;

/**
 * Copies of a time series between replica sets, by its buckets: by every tool, and by the bare loop over the same ones.
 * Servers make the buckets, of inserted measurements.
 */
export async function measureSeries(tools: readonly ToolKind[], context: BenchmarkContext): Promise<Row[]> {
  const { folder, log, scale } = context;
  await using clusters = await BenchClusters.start(folder, 'replicaSet');
  const insertSize = perInsert.sensors * perInsert.times;
  const inserts = Math.max(1, Math.round((measurements * scale) / insertSize));
  log(`${name}: inserting ${inserts * insertSize} measurements`);
  await measure(clusters.sourceClient, inserts);
  const stored = await storedBuckets(clusters.sourceClient);
  const compared = await compareCopies(
    {
      name,
      bytes: stored.reduce((sum, { bytes }) => sum + bytes, 0),
      goals,
      database,
      collection: buckets,
      documents: stored.length,
      ranges: (count) =>
        rangesOfIds(
          stored.map(({ _id }) => _id),
          count,
        ),
      makeEmpty: async () => {
        await clusters.destinationClient.db(database).createCollection(collection, series);
      },
    },
    clusters,
    tools,
    context,
  );
  return [...copyRows(compared), ...measurementRows(compared, inserts * insertSize, stored.length)];
}

/** Rates in measurements of copies of a time series: medians of the rounds, and the best bare loop. */
export function measurementRows({ bare, tools }: SizeCompared, count: number, bucketCount: number): Row[] {
  const each = rowMaker(`${name} of each copy`);
  const rate = (subject: string, seconds: number): Row =>
    rowMaker(`${name} ${subject}`)('measurements', count / seconds, '1/s');
  return [
    each('measurements', count, ''),
    each('buckets', bucketCount, ''),
    rate('bare loop', Math.min(...bare.map(secondsOf))),
    ...[...tools].map(([tool, runs]) => rate(tool, median(runs, secondsOf))),
  ];
}

async function measure(client: MongoClient, inserts: number): Promise<void> {
  const target = await client.db(database).createCollection(collection, series);
  await inBatches(inserts, 1, parallelInserts, async ([insert = 0]) => {
    await target.insertMany(measurementsOf(insert), { ordered: false });
  });
}

/** Inserts take turns over groups of sensors, and go on in time. */
function measurementsOf(insert: number): Document[] {
  const groups = sensors / perInsert.sensors;
  const firstSensor = (insert % groups) * perInsert.sensors;
  const firstTime = Math.floor(insert / groups) * perInsert.times;
  return Array.from({ length: perInsert.sensors * perInsert.times }, (_, index) =>
    measurement(firstSensor + (index % perInsert.sensors), firstTime + Math.floor(index / perInsert.sensors)),
  );
}

/** Two values that change a little from time to time, as those of a machine, and one that hardly does. */
function measurement(sensor: number, time: number): Document {
  const noise = ((Math.imul(sensor * 7_919 + time, 0x9e3779b1) >>> 0) % 1_000) / 1_000;
  return {
    at: new Date(begin_ms + time * interval_ms),
    sensor,
    temperature: Math.round((20 + 5 * Math.sin(time / 500 + sensor) + noise) * 100) / 100,
    pressure: 1_013.25 + noise,
    state: noise > 0.99 ? 'warn' : 'fine',
  };
}

/** Sizes of all buckets, in the order of `_id`. */
async function storedBuckets(client: MongoClient): Promise<{ _id: ObjectId; bytes: number }[]> {
  return client
    .db(database)
    .collection(buckets)
    .aggregate<{ _id: ObjectId; bytes: number }>([
      { $sort: { _id: 1 } },
      { $project: { bytes: { $bsonSize: '$$ROOT' } } },
    ])
    .toArray();
}

function rangesOfIds(ids: readonly ObjectId[], count: number): LoopRange[] {
  const inner = Array.from({ length: count - 1 }, (_, index) => ids[Math.floor((ids.length * (index + 1)) / count)]);
  const bounds = [new ObjectId('0'.repeat(24)), ...inner, new ObjectId('f'.repeat(24))];
  return bounds.slice(1).map((max, index): LoopRange => [bounds[index], max]);
}
