import { Int32, type Document, type MongoClient } from 'mongodb';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { eachShard, onShards } from '../shards.js';
import { documentOf, type RawId } from './id-values.js';
import { RawConnection } from './raw-connection.js';

/** The database of all collections here. */
export const kindsDatabase = 'kinds';

const maxKeyType = 0x7f;

/** How a collection is sharded, and what its documents have of the shard key. */
export interface KeyKind {
  readonly name: string;
  /** Null: not sharded. */
  readonly key: Document | null;
  /** Where the first chunk ends; hashed ones are split by the server. */
  readonly middle: Document | null;
  /** The fields of the document with this number, beside its `_id`. */
  readonly fields: (number: number) => Document;
}

const regions = ['north', 'south', 'west'] as const;
/** Where a document has its state: changed to distinguish copies of one document. */
const loaded = { state: 'loaded' };

/** Documents without `region`, without `number`, with null in their place, and without both. */
function withGaps(number: number): Document {
  const region = { region: regions[number % 3] };
  const gaps: Document[] = [
    {},
    region,
    { number: new Int32(number) },
    { region: null, number: new Int32(number) },
    { ...region, number: null },
    { ...region, number: new Int32(number) },
  ];
  return { ...loaded, ...gaps[number % gaps.length] };
}

function whole(number: number): Document {
  return { ...loaded, region: regions[number % 3], number: new Int32(number) };
}

/** Every kind of shard key. */
export const keyKinds: readonly KeyKind[] = [
  { name: 'unsharded', key: null, middle: null, fields: whole },
  { name: 'ranged', key: { number: 1 }, middle: { number: 100 }, fields: whole },
  { name: 'hashedId', key: { _id: 'hashed' }, middle: null, fields: whole },
  { name: 'rangedId', key: { _id: 1 }, middle: { _id: {} }, fields: whole },
  { name: 'compound', key: { region: 1, number: 1 }, middle: { region: 'south', number: 0 }, fields: whole },
  { name: 'compoundHashed', key: { region: 1, number: 'hashed' }, middle: null, fields: whole },
  { name: 'missingFields', key: { region: 1, number: 1 }, middle: { region: 'north', number: 0 }, fields: withGaps },
];

/**
 * Those of the `_id`s that the kind takes, with their numbers: under a ranged key a document under MaxKey is no
 * shard's, and refused (61).
 */
export function idsUnder({ key }: KeyKind, ids: readonly RawId[]): { id: RawId; number: number }[] {
  const numbered = ids.map((id, number) => ({ id, number }));
  return key?.['_id'] === 1 ? numbered.filter(({ id }) => id.type !== maxKeyType) : numbered;
}

/**
 * Makes a collection of each kind with one document under every `_id`, over both shards, orphans on the one that a
 * chunk was moved from.
 */
export async function loadKinds(client: MongoClient, cluster: TestCluster, ids: readonly RawId[]): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ balancerStop: 1 });
  await admin.command({ enableSharding: kindsDatabase });
  await onShards(cluster, { configureFailPoint: 'suspendRangeDeletion', mode: 'alwaysOn' });
  await using raw = await RawConnection.open(cluster.connectionString);
  for (const kind of keyKinds) {
    const { name, key, middle, fields } = kind;
    const namespace = `${kindsDatabase}.${name}`;
    if (key === null) await client.db(kindsDatabase).createCollection(name);
    else await admin.command({ shardCollection: namespace, key });
    if (middle !== null) await admin.command({ split: namespace, middle });
    await raw.insert(
      kindsDatabase,
      name,
      idsUnder(kind, ids).map(({ id, number }) => documentOf(id, fields(number))),
    );
    if (key !== null) await plantOrphans(client, cluster, name);
  }
}

/**
 * Moves the last chunk, whose range deletion is suspended: the documents stay where they were, and later changes do not
 * all reach them.
 */
async function plantOrphans(client: MongoClient, cluster: TestCluster, name: string): Promise<void> {
  const config = client.db('config');
  const row = await config
    .collection<{ _id: string; uuid: unknown }>('collections')
    .findOne({ _id: `${kindsDatabase}.${name}` });
  const chunks = await config.collection('chunks').find({ uuid: row?.uuid }).sort({ min: 1 }).toArray();
  const chunk = chunks.at(-1);
  if (chunk === undefined) throw new Error(`${name} has no chunks.`);
  const [from = '', to = ''] = cluster.shardIds;
  const admin = client.db('admin');
  const before = await countOnShards(cluster, name);
  await admin.command({
    moveChunk: `${kindsDatabase}.${name}`,
    bounds: [chunk['min'], chunk['max']],
    to: chunk['shard'] === to ? from : to,
  });
  if ((await countOnShards(cluster, name)) <= before) throw new Error(`Moving a chunk of ${name} has left no orphans.`);
}

/** Documents on all shards together, orphans included. */
export async function countOnShards(cluster: TestCluster, name: string): Promise<number> {
  let count = 0;
  await eachShard(cluster, async (shard) => {
    count += await shard.db(kindsDatabase).collection(name).countDocuments();
  });
  return count;
}
