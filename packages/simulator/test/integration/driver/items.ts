import type { Collection, MongoClient } from 'mongodb';
import type { DrivenCluster } from './driven-cluster.js';

export interface Item {
  _id: number;
  k: number;
  v?: number | string | undefined;
}

/** A sharded collection with documents whose `k` goes from below zero to above. */
export async function filled(
  driven: DrivenCluster,
  client: MongoClient,
  name: string,
  count = 10,
): Promise<Collection<Item>> {
  await driven.shard(client, name, 'c');
  const collection = client.db(name).collection<Item>('c');
  await collection.insertMany(Array.from({ length: count }, (_, index) => ({ _id: index, k: index - count / 2 })));
  return collection;
}
