import type { Collection, MongoClient } from 'mongodb';
import { MongoClient as Client } from 'mongodb';
import { expect } from 'vitest';
import type { ContractClient } from '@convoy/api/client/contract-client';
import type { Progress } from '@convoy/api/contract/progress';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { indexStates } from '../../packages/instance/test/integration/ddl/index-states.js';
import { type Clusters, untilProgress } from '../fleet.js';

/** A document of the collection whose indexes are built. */
export interface Order {
  _id: number;
  a: number;
  b: number;
}

const documents = 200;

export function orders(client: MongoClient): Collection<Order> {
  return client.db('shop').collection<Order>('orders');
}

/** Orders on all shards, and a collection on one of them. */
export async function loadOrders({ source: client }: Clusters['clients'], cluster: TestCluster): Promise<void> {
  if (cluster.kind === 'sharded') {
    await client.db('admin').command({ enableSharding: 'shop' });
    await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  }
  await orders(client).insertMany(Array.from({ length: documents }, (_, n) => ({ _id: n, a: n % 7, b: n % 5 })));
  await client.db('shop').collection('notes').insertOne({ text: 'first' });
}

/** The last shard of a cluster, whose index builds wait at a fail point before their first document. */
export class HeldShard implements AsyncDisposable {
  private constructor(private readonly client: MongoClient) {}

  static async of(cluster: TestCluster): Promise<HeldShard> {
    return new HeldShard(await new Client(cluster.shardConnectionString(cluster.shardIds.at(-1) ?? '')).connect());
  }

  async hold(mode: 'alwaysOn' | 'off'): Promise<void> {
    await this.client.db('admin').command({ configureFailPoint: 'hangAfterInitializingIndexBuild', mode });
  }

  async untilBuilding(name: string): Promise<void> {
    await expect.poll(() => indexStates(orders(this.client))).toHaveProperty(name, 'building');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hold('off');
    await this.client.close();
  }
}

/** The states of an index on each shard of both clusters. */
export async function statesOf({ source, destination }: Clusters, name: string): Promise<string[]> {
  const states: string[] = [];
  for (const cluster of [source, destination])
    for (const id of cluster.shardIds) {
      await using client = new Client(cluster.shardConnectionString(id));
      states.push((await indexStates(orders(client)))[name] ?? 'absent');
    }
  return states;
}

function warned({ warnings }: Progress): string | undefined {
  return warnings?.find(({ name }) => name === 'buildingIndexes')?.description;
}

/** Waits until progress names a build. */
export function untilNamed(client: ContractClient, named: RegExp): Promise<Progress> {
  return untilProgress(client, `a warning says ${named.source}`, (progress) => named.test(warned(progress) ?? ''));
}
