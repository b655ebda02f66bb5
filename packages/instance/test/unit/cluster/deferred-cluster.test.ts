import type { Document } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { DeferredCluster, ensureReached } from '../../../src/cluster/deferred-cluster.js';
import type { ClusterClient } from '../../../src/cluster/node-client.js';
import { awayError, FakeNodeClient, fakeCluster } from '../fake-node-client.js';
import { never } from '../model/parts.js';

const known = {
  name: 'cluster0',
  clusterId: '0a',
  displayHost: 'host:1',
  access: 'direct' as const,
  shardIds: ['a', 'b'],
};
const away = awayError();
let tries: number;
let isAway: boolean;
let closed: number;
let cluster: DeferredCluster;

function connect(): Promise<ClusterClient> {
  tries += 1;
  if (isAway) return Promise.reject(away);
  const client = (label: string) => new FakeNodeClient(label, { ping: () => ({ ok: 1, label }) });
  const real = fakeCluster({
    router: client('router'),
    shards: new Map(known.shardIds.map((id) => [id, client(id)])),
    version: [7, 0, 0],
  });
  return Promise.resolve({ ...real, close: () => Promise.resolve(void (closed += 1)) });
}

beforeEach(() => {
  [tries, isAway, closed] = [0, false, 0];
  cluster = new DeferredCluster(known, connect);
});

const ping = ({ command }: { command: ClusterClient['router']['command'] }, signal = never): Promise<Document> =>
  command('admin', { ping: 1 }, { signal });
const bound = (client: ClusterClient['router']) => ({ command: client.command.bind(client) });

it('reports its known properties without connecting', async () => {
  expect(cluster).toMatchObject(known);
  expect(() => cluster.version).toThrow('Convoy has not connected to cluster0 yet');
  await cluster.close();
  expect([tries, closed]).toEqual([0, 0]);
});

it('connects once for all clients, with the first call', async () => {
  const clients = [cluster.router, cluster.shard('a'), cluster.taskClient('b')];
  const replies = await Promise.all(clients.map((client) => ping(bound(client))));
  expect(replies.map(({ label }) => label as unknown)).toEqual(['router', 'a', 'b']);
  expect([cluster.kind, cluster.version]).toEqual(['sharded', [7, 0, 0]]);
  expect(tries).toBe(1);
  await cluster.close();
  expect(closed).toBe(1);
});

it('connects for who must know what it is, and leaves other clusters alone', async () => {
  await ensureReached(cluster, never);
  await ensureReached(fakeCluster({ router: new FakeNodeClient('router', {}) }), never);
  expect([cluster.kind, cluster.version, tries]).toEqual(['sharded', [7, 0, 0], 1]);
});

it('tries again with each call while the cluster is unreachable', async () => {
  isAway = true;
  for (const attempt of [1, 2]) {
    await expect(ping(bound(cluster.router))).rejects.toBe(away);
    expect(tries).toBe(attempt);
  }
  isAway = false;
  expect(await ping(bound(cluster.router))).toMatchObject({ ok: 1 });
});

it('leaves the attempt to the other calls when one call ends', async () => {
  const ending = new AbortController();
  const [first, second] = [ping(bound(cluster.router), ending.signal), ping(bound(cluster.router))];
  ending.abort(new Error('ends'));
  await expect(first).rejects.toThrow('ends');
  expect(await second).toMatchObject({ ok: 1 });
  expect(tries).toBe(1);
});

it('does not connect after it was closed', async () => {
  await cluster.close();
  await expect(ping(bound(cluster.router))).rejects.toThrow();
  expect(tries).toBe(0);
});
