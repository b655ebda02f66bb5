import { loginAs } from '@convoy/testbed/cluster/access-control';
import { type Document, MongoClient, type Timestamp } from 'mongodb';
import { expect } from 'vitest';
import type { Side } from '../contract/fixture.js';
import { isReal } from './everything.js';

/** A shard of a cluster with users, as a client that connects to it without the router. */
interface Shard extends AsyncDisposable {
  readonly id: string;
  readonly zones: readonly string[];
  readonly client: MongoClient;
}

async function shardsOf(side: Side): Promise<Shard[]> {
  return (await side.shards()).map(({ id, zones, url }) => {
    const client = new MongoClient(loginAs(url, 'root'));
    return { id, zones, client, [Symbol.asyncDispose]: () => client.close() };
  });
}

/**
 * Lets every shard remove the documents of a chunk as soon as it has left: they stay for a quarter of an hour
 * otherwise, and a shard itself shows them.
 */
export async function removeOrphansAtOnce(side: Side): Promise<void> {
  for (const each of await shardsOf(side)) {
    await using shard = each;
    await shard.client.db('admin').command({ setParameter: 1, orphanCleanupDelaySecs: 0 });
  }
}

/**
 * Documents of collections of `shop` on a shard that has not the zone of their region, as the shards themselves have
 * them.
 */
export async function documentsOutside(side: Side, collections: readonly string[]): Promise<string[]> {
  const outside: string[] = [];
  for (const each of await shardsOf(side)) {
    await using shard = each;
    for (const name of collections) {
      const found = shard.client
        .db('shop')
        .collection(name)
        .find({ region: { $nin: shard.zones } });
      for (const { region, n } of await found.toArray())
        outside.push(`${name}: ${String(region)} ${String(n)} on ${shard.id}`);
    }
  }
  return outside;
}

/** Waits until the balancer of a cluster has looked at its collections a number of times. */
export async function balancedRounds({ client }: Side, rounds: number): Promise<void> {
  const status = (): Promise<Document> => client.db('admin').command({ balancerStatus: 1 });
  const { mode, numBalancerRounds } = await status();
  expect(mode).toBe('full');
  const enough = Number(numBalancerRounds) + rounds;
  await expect
    .poll(async () => Number((await status()).numBalancerRounds), { timeout: 180_000, interval: 500 })
    .toBeGreaterThanOrEqual(enough);
}

/** Cluster parameters and query settings of a cluster, as its router answers. */
export async function settingsOf({ client }: Side): Promise<Document> {
  const admin = client.db('admin');
  const getClusterParameter = isReal ? ['defaultMaxTimeMS', 'changeStreamOptions'] : ['defaultMaxTimeMS'];
  const { clusterParameters } = await admin.command({ getClusterParameter });
  const parameters = Object.fromEntries(
    (clusterParameters as Document[]).map(({ _id, clusterParameterTime, ...value }) => {
      // Each cluster has its own: 0 means that nobody has set the parameter.
      expect((clusterParameterTime as Timestamp).t).toBeGreaterThan(0);
      return [String(_id), value];
    }),
  );
  const querySettings = isReal
    ? await admin
        .aggregate([{ $querySettings: {} }, { $sort: { queryShapeHash: 1 } }], { promoteLongs: false })
        .toArray()
    : [];
  return { parameters, querySettings };
}
