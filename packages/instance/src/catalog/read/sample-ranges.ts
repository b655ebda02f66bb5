import type { ClusterClient, Namespace } from '../../cluster/node-client.js';
import { compareRaw } from '../../bson/order.js';
import { isKeyBound, isLossless } from '../../bson/sent-value.js';
import { findValue, maxKey, minKey, nullValue, ownedValue, type RawValue } from '../../bson/scan.js';
import { keyBound } from '../../bson/shard-key.js';
import type { KeyPattern } from '../key-pattern.js';
import type { CollectionPlan, DestinationPlan } from '../plan/destination-plan.js';
import type { DestinationRange } from '../plan/distribution.js';
import { mapBounded } from '../../async/together.js';
import { readCursor } from './read-cursor.js';

/** Ranges per destination shard: enough for a later balancer, few enough to place. */
const RANGES_PER_SHARD = 4;

/** Sampled keys per range: with 20, the ranges are within about a quarter of their mean size. */
const SAMPLES_PER_RANGE = 20;

/** Collections sampled concurrently. */
const COLLECTIONS_PARALLEL = 4;

/**
 * Completes a plan from a replica set to a sharded cluster. For collections to be sharded by a ranged key of unknown
 * values, it takes ranges of about equal counts from a random sample of the source. All other collections stay as
 * planned. Two calls give different ranges, all of them valid.
 * @throws what the source's client throws
 */
export async function withSampledRanges(
  plan: DestinationPlan,
  source: ClusterClient,
  destination: Pick<ClusterClient, 'shardIds'>,
  signal: AbortSignal,
): Promise<DestinationPlan> {
  const collections = await mapBounded(
    plan.collections,
    COLLECTIONS_PARALLEL,
    async (collection): Promise<CollectionPlan> => {
      if (collection.sharding === null || collection.sharding.ranges.length > 0) return collection;
      const ranges = await sampleRanges(
        source,
        collection.sourceNamespace,
        collection.sharding.key,
        destination.shardIds,
        signal,
      );
      return { ...collection, sharding: { ...collection.sharding, ranges } };
    },
  );
  return { ...plan, collections };
}

async function sampleRanges(
  source: ClusterClient,
  namespace: Namespace,
  key: KeyPattern,
  destinationShardIds: readonly string[],
  signal: AbortSignal,
): Promise<DestinationRange[]> {
  const shards = [...destinationShardIds].sort();
  const rangeCount = shards.length * RANGES_PER_SHARD;
  const fields = rangedFields(key);
  const sampled = await sampleKeys(source, namespace, fields, rangeCount * SAMPLES_PER_RANGE, signal);
  const points = quantiles(sampled, rangeCount).map((values) => keyBound(key, values, minKey));
  const [first, last] = [keyBound(key, [], minKey), keyBound(key, [], maxKey)];
  const bounds = [first, ...points, last];
  return bounds.slice(1).map((max, position) => ({
    min: bounds[position] ?? first,
    max,
    shard: shards[Math.floor((position * shards.length) / (bounds.length - 1))] as string,
  }));
}

/** Fields whose values can bound a range: all before the hashed one. */
function rangedFields(key: KeyPattern): string[] {
  const entries = [...key];
  const hashed = entries.findIndex(([, value]) => value === 'hashed');
  return (hashed < 0 ? entries : entries.slice(0, hashed)).map(([field]) => field);
}

/**
 * Shard-key values of random documents in the order of the key; missing fields count as null, as they do for the
 * server.
 */
async function sampleKeys(
  source: ClusterClient,
  namespace: Namespace,
  fields: readonly string[],
  size: number,
  signal: AbortSignal,
): Promise<RawValue[][]> {
  const names = fields.map((_, position) => `v${position}`);
  const pipeline = [
    { $sample: { size } },
    {
      $project: {
        _id: 0,
        ...Object.fromEntries(fields.map((field, position) => [`v${position}`, { $ifNull: [`$${field}`, null] }])),
      },
    },
    { $sort: Object.fromEntries(names.map((name) => [name, 1])) },
  ];
  const command = {
    aggregate: namespace.name,
    pipeline,
    collation: { locale: 'simple' },
    allowDiskUse: true,
    cursor: {},
  };
  const decode = (bytes: Uint8Array): RawValue[] =>
    names.map((name) => ownedValue(findValue(bytes, name) ?? nullValue));
  const rows = await readCursor(source.router, namespace.database, command, decode, signal);
  return rows.filter((values) => values.every((value) => isLossless(value) && isKeyBound(value)));
}

/** Up to `count - 1` different values that cut a sorted sample into equal parts. */
function quantiles(sorted: readonly RawValue[][], count: number): RawValue[][] {
  const points: RawValue[][] = [];
  for (let part = 1; part < count; part += 1) {
    const point = sorted[Math.floor((part * sorted.length) / count)];
    // Nothing sorts below the smallest sampled value: a range that ends there would be empty.
    const before = points.at(-1) ?? sorted[0];
    if (point !== undefined && before !== undefined && differ(before, point)) points.push(point);
  }
  return points;
}

function differ(a: readonly RawValue[], b: readonly RawValue[]): boolean {
  return b.some((value, position) => compareRaw(a[position] ?? minKey, value) !== 0);
}
