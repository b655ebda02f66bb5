import { Int32, ObjectId, type Document } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ClusterClient } from '../../../src/cluster/node-client.js';
import { openCluster, type OpenClusterOptions } from '../../../src/cluster/open-cluster.js';
import { batch, failure, ScriptedNode, success, type ReceivedCommand } from './scripted-node.js';

const clusterId = new ObjectId();
const options: OpenClusterOptions = { direct: false, signal: new AbortController().signal };

function routerScript(shards: { _id: string; host: string }[], version = [5, 0, 7, 0]) {
  return ({ name }: ReceivedCommand): Document => {
    if (name === 'buildInfo') return success({ versionArray: version });
    if (name === 'find') return batch(0n, [{ _id: 1, clusterId }]);
    if (name === 'listShards') return success({ shards });
    return failure(59, 'CommandNotFound');
  };
}

const shardScript = ({ name }: ReceivedCommand): Document =>
  name === 'aggregate' || name === 'find' ? batch(0n, []) : failure(59, 'CommandNotFound');

async function errorOf(opening: Promise<unknown>): Promise<ConvoyError> {
  const error = await opening.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConvoyError);
  return error as ConvoyError;
}

describe('opening a cluster', () => {
  test('through its router', async () => {
    await using router = await ScriptedNode.start(
      routerScript([
        { _id: 'shard0', host: 's0/127.0.0.1:1' },
        { _id: 'shard1', host: 's1/127.0.0.1:2' },
      ]),
    );
    const cluster = await openCluster('cluster0', router.connectionString, options);
    expect(cluster).toMatchObject({
      name: 'cluster0',
      kind: 'sharded',
      version: [5, 0, 7],
      clusterId: clusterId.toHexString(),
      displayHost: router.host,
      shardIds: ['shard0', 'shard1'],
    });
    expect(() => cluster.shard('shard0')).toThrow('topologyChanged');
    expect(cluster.router.label).toBe('cluster0 router');
    await cluster.close();
  });

  test('tries the next seed if one does not answer', async () => {
    await using router = await ScriptedNode.start(routerScript([]));
    await using dead = await ScriptedNode.start(() => 'disconnect');
    const deadHost = dead.host;
    await dead[Symbol.asyncDispose]();
    const text = `mongodb://${deadHost},${router.host}/?serverSelectionTimeoutMS=3000`;
    const cluster = await openCluster('cluster0', text, options);
    expect(cluster.shardIds).toEqual([]);
    await cluster.close();
  });

  test('with a client of every shard', async () => {
    await using shard = await ScriptedNode.start(shardScript, { setName: 's0' });
    await using router = await ScriptedNode.start(routerScript([{ _id: 'shard0', host: `s0/${shard.host}` }]));
    const wrapped: string[] = [];
    const cluster = await openCluster('cluster1', router.connectionString, { ...options, direct: true }, (client) => {
      wrapped.push(client.label);
      return client;
    });
    expect(cluster.shard('shard0').label).toBe('cluster1 shard0');
    expect(wrapped).toEqual(['cluster1 router', 'cluster1 shard0']);
    expect(shard.named('aggregate')).toHaveLength(1);
    await cluster.close();
  });

  test('fails with the name of every shard that cannot be read, its host and the cause', async () => {
    await using refusing = await ScriptedNode.start(() => failure(13, 'Unauthorized'), { setName: 's0' });
    await using dead = await ScriptedNode.start(() => 'disconnect', { setName: 's1' });
    const deadHost = dead.host;
    await dead[Symbol.asyncDispose]();
    await using readable = await ScriptedNode.start(shardScript, { setName: 's2' });
    const hosts = [refusing.host, deadHost, readable.host];
    const shards = hosts.map((host, at) => ({ _id: `shard${at}`, host: `s${at}/${host}` }));
    await using router = await ScriptedNode.start(routerScript(shards));
    const text = `${router.connectionString}?serverSelectionTimeoutMS=3000`;
    const error = await errorOf(openCluster('cluster0', text, { ...options, direct: true }));
    expect(error.error).toBe('shardsNotReachable');
    expect(error.errorDescription).toContain('Shard shard0 of cluster0 cannot be read directly: Unauthorized (13).');
    expect(error.errorDescription).toContain(
      `Shard shard1 of cluster0 cannot be read directly: ${deadHost}: the connection was refused (ECONNREFUSED). ` +
        'Make them reachable and give credentials',
    );
    expect(error.errorDescription).not.toContain('shard2');
  });

  test('names the role that a shard of 8.0 wants for reads without a router', async () => {
    const script = ({ name, body }: ReceivedCommand): Document => {
      if (name === 'aggregate') return batch(0n, []);
      return typeof body['find'] === 'string' ? failure(13, 'Unauthorized') : failure(26, 'NamespaceNotFound');
    };
    await using shard = await ScriptedNode.start(script, { setName: 's0' });
    const shards = [{ _id: 'shard0', host: `s0/${shard.host}` }];
    await using router = await ScriptedNode.start(routerScript(shards, [8, 0, 10, 0]));
    const error = await errorOf(openCluster('cluster0', router.connectionString, { ...options, direct: true }));
    expect(error.error).toBe('shardsNotReachable');
    expect(error.errorDescription).toContain(
      'Shard shard0 of cluster0 cannot be read directly: its user lacks the role directShardOperations.',
    );
    expect(error.errorDescription).toContain('grantRolesToUser');
  });

  test('treats a replica set as one shard under its set name', async () => {
    const replicaSetId = new ObjectId();
    const script = ({ name }: ReceivedCommand): Document => {
      if (name === 'buildInfo') return success({ versionArray: [6, 0, 1, 0] });
      if (name === 'replSetGetConfig') return success({ config: { settings: { replicaSetId } } });
      return name === 'find' ? batch(0n, []) : failure(59, 'CommandNotFound');
    };
    await using member = await ScriptedNode.start(script, { setName: 'plain', setVersion: 1, secondary: false });
    const cluster = await openCluster('cluster0', member.connectionString, { ...options, direct: true });
    expect(cluster).toMatchObject({
      kind: 'replicaSet',
      version: [6, 0, 1],
      clusterId: replicaSetId.toHexString(),
      shardIds: ['plain'],
    });
    expect(cluster.shard('plain')).toBe(cluster.router);
    await cluster.close();
  });

  describe('uses the release that all nodes support', () => {
    const opened = async (binary: number[], row: Document): Promise<ClusterClient> => {
      const script = ({ name, body }: ReceivedCommand): Document => {
        if (name === 'buildInfo') return success({ versionArray: binary });
        if (name === 'listShards') return success({ shards: [] });
        if (name !== 'find') return failure(59, 'CommandNotFound');
        if (body['find'] !== 'system.version') return batch(0n, [{ _id: 1, clusterId }]);
        return row['code'] === undefined ? batch(0n, [row]) : failure(Number(row['code']), 'Refused');
      };
      await using router = await ScriptedNode.start(script);
      const cluster = await openCluster('cluster0', router.connectionString, options);
      await cluster.close();
      return cluster;
    };

    test.each([
      ['that of all nodes', { version: '7.0' }, [7, 0, 16], undefined],
      ['lower, as before the end of an upgrade', { version: '6.0' }, [6, 0, 0], [7, 0, 16]],
      ['during an upgrade', { version: '6.0', targetVersion: '7.0' }, [6, 0, 0], [7, 0, 16]],
      ['above the router, which is upgraded last', { version: '8.0' }, [7, 0, 16], undefined],
      ['not readable', { code: 13 }, [7, 0, 16], undefined],
    ])('when the feature compatibility version is %s', async (_, row, version, newerBinary) => {
      const cluster = await opened([7, 0, 16, 0], row);
      expect([cluster.version, cluster.newerBinary]).toEqual([version, newerBinary]);
    });

    test('fails if the node does not report it for another reason', async () => {
      await expect(opened([7, 0, 16, 0], { code: 8 })).rejects.toMatchObject({ code: 8 });
    });
  });

  test('says of a set without an id what it lacks, and how to set it', async () => {
    const script = ({ name }: ReceivedCommand): Document => {
      if (name === 'buildInfo') return success({ versionArray: [8, 0, 10, 0] });
      if (name === 'replSetGetConfig') return success({ config: { settings: {} } });
      return name === 'find' ? batch(0n, []) : failure(59, 'CommandNotFound');
    };
    await using member = await ScriptedNode.start(script, { setName: 'plain', setVersion: 1, secondary: false });
    const error = await errorOf(openCluster('cluster0', member.connectionString, options));
    expect(error.error).toBe('unsupportedTopology');
    expect(error.errorDescription).toMatch(/cluster0 replica set has no settings\.replicaSetId.*To set one, stop all/);
  });

  test('refuses standalone servers and versions that are too old', async () => {
    await using standalone = await ScriptedNode.start(() => success(), {});
    expect((await errorOf(openCluster('cluster0', standalone.connectionString, options))).error).toBe(
      'unsupportedTopology',
    );
    await using old = await ScriptedNode.start(routerScript([], [4, 2, 24, 0]));
    expect((await errorOf(openCluster('cluster0', old.connectionString, options))).error).toBe(
      'unsupportedServerVersion',
    );
  });

  test.each([
    'timeoutMS=1',
    'TIMEOUTMS=1',
    'readPreference=secondary&readPreferenceTags=dc:none',
    'readPreference=secondary&maxStalenessSeconds=90',
  ])('of primaries is not ended by what a connection string says of limits and members: %s', async (written) => {
    const replicaSetId = new ObjectId();
    const script = ({ name }: ReceivedCommand): Document => {
      if (name === 'buildInfo') return success({ versionArray: [6, 0, 1, 0] });
      if (name === 'replSetGetConfig') return success({ config: { settings: { replicaSetId } } });
      return name === 'find' ? batch(0n, []) : failure(59, 'CommandNotFound');
    };
    await using member = await ScriptedNode.start(script, { setName: 'plain', setVersion: 1, secondary: false });
    const text = `${member.connectionString}?serverSelectionTimeoutMS=2000&${written}`;
    const cluster = await openCluster('cluster0', text, options);
    expect(member.named('find')[0]?.body).toMatchObject({ maxTimeMS: new Int32(0) });
    await cluster.close();
  });

  test('reads from members with the tags of its connection string', async () => {
    const script = ({ name }: ReceivedCommand): Document => {
      if (name === 'buildInfo') return success({ versionArray: [6, 0, 1, 0] });
      if (name === 'replSetGetConfig') return success({ config: { settings: { replicaSetId: new ObjectId() } } });
      return batch(0n, []);
    };
    const ofSet = { setName: 'plain', setVersion: 1 };
    const ofSecondary = { ...ofSet, isWritablePrimary: false, ismaster: false, secondary: true };
    const one: Document = { ...ofSet };
    const other: Document = { ...ofSecondary, tags: { dc: 'a' } };
    const third: Document = { ...ofSecondary, tags: { dc: 'b' } };
    await using primary = await ScriptedNode.start(script, one);
    await using untagged = await ScriptedNode.start(script, other);
    await using tagged = await ScriptedNode.start(script, third);
    const hosts = [primary, untagged, tagged].map(({ host }) => host);
    for (const identity of [one, other, third]) identity['hosts'] = hosts;
    const text = `${primary.connectionString}?readPreferenceTags=dc:b`;
    const cluster = await openCluster('cluster0', text, { ...options, readPreference: 'secondary' });
    for (let read = 0; read < 5; read += 1)
      await (await cluster.router.openCursor('db', { find: 'coll' }, options)).close();
    expect([untagged.named('find').length, tagged.named('find').length]).toEqual([0, 5]);
    await cluster.close();
  });

  test('reads from other members when asked to, and keeps a cursor on its member', async () => {
    const script = ({ name }: ReceivedCommand): Document => {
      if (name === 'buildInfo') return success({ versionArray: [6, 0, 1, 0] });
      if (name === 'replSetGetConfig') return success({ config: { settings: { replicaSetId: new ObjectId() } } });
      return name === 'getMore' ? batch(0n, [], {}, 'nextBatch') : batch(7n, []);
    };
    const [primaryIdentity, secondaryIdentity]: [Document, Document] = [
      { setName: 'plain', setVersion: 1 },
      { setName: 'plain', setVersion: 1, isWritablePrimary: false, ismaster: false, secondary: true },
    ];
    await using primary = await ScriptedNode.start(script, primaryIdentity);
    await using secondary = await ScriptedNode.start(script, secondaryIdentity);
    for (const identity of [primaryIdentity, secondaryIdentity]) identity['hosts'] = [primary.host, secondary.host];
    const cluster = await openCluster('cluster0', primary.connectionString, {
      ...options,
      readPreference: 'secondary',
    });
    const cursor = await cluster.router.openCursor('db', { find: 'coll' }, options);
    await cursor.next(options);
    await cluster.router.command('admin', { ping: 1 }, options);
    expect(
      [secondary, primary].map((node) => ['find', 'getMore', 'ping'].map((name) => node.named(name).length)),
    ).toEqual([
      [1, 1, 0],
      // Its feature compatibility version was read when the cluster was opened.
      [1, 0, 1],
    ]);
    await cluster.close();
  });
});
