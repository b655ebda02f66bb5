import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { membersAway } from '../../../src/cluster/topology.js';
import { fakeCluster, FakeNodeClient, serverError } from '../fake-node-client.js';
import { never } from '../model/parts.js';

function away(kind: 'sharded' | 'replicaSet', answers: Record<string, () => Document>): Promise<string[]> {
  return membersAway(fakeCluster({ kind, router: new FakeNodeClient('router', answers) }), { signal: never });
}

it('are those of a replica set that its primary does not reach', async () => {
  const members = [
    { name: 'a:1', health: 1 },
    { name: 'b:1', health: 0 },
  ];
  expect(await away('replicaSet', { replSetGetStatus: () => ({ members }) })).toEqual(['b:1']);
});

it('are those of all shards that the router does not reach, without arbiters', async () => {
  const hosts = [
    { addr: 'a:1', ok: true, ismaster: true, hidden: false },
    { addr: 'b:1', ok: false, ismaster: false, hidden: false },
    { addr: 'c:1', ok: false, ismaster: false, hidden: true },
  ];
  const replicaSets = { s0: { hosts }, s1: { hosts: hosts.slice(0, 1) } };
  expect(await away('sharded', { connPoolStats: () => ({ replicaSets }) })).toEqual(['b:1 of s0']);
});

it('are unknown to a user who may not ask', async () => {
  const refuse = (): never => {
    throw serverError(13, 'Unauthorized');
  };
  expect(await away('sharded', { connPoolStats: refuse })).toEqual([]);
  expect(await away('replicaSet', { replSetGetStatus: refuse })).toEqual([]);
});
