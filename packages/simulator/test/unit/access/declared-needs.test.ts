import { afterAll, beforeAll, expect, it } from 'vitest';
import { declaredNeeds } from '../../../src/access/authorization/authorizer.js';
import { type Cluster, startWholeCluster } from '../../../src/cluster/cluster.js';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startWholeCluster({ shards: 1, version: '8.0' });
});

afterAll(() => cluster.close());

it('every command of a router and of a shard declares what it needs', () => {
  const names = [
    ...cluster.routerMembers.map(({ router }) => router.commandNames),
    ...cluster.shardMembers.map(({ node }) => node.commandNames),
  ].flat();
  expect(names.length).toBeGreaterThan(50);
  expect(names.filter((name) => !declaredNeeds.has(name))).toEqual([]);
});
