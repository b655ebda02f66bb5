import { Closers } from '@convoy/testbed/closers';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { type Document, MongoClient, type MongoServerError, UUID } from 'mongodb';
import { expect, test } from 'vitest';
import { openCluster } from '../../../src/cluster/open-cluster.js';

const reader = { user: 'reader', password: 'secret', authSource: 'admin' };

test('a shard whose user may not read by UUID is not read directly, and the privilege is named', async () => {
  const signal = AbortSignal.timeout(120_000);
  await using stack = new Closers();
  const folder = stack.use(ScratchFolder.create('privileges'));
  const servers = stack.use(
    await startTestCluster({ name: 'source', topology: { shards: 1 }, withUsers: true, isHere: true, folder }),
  );
  const toShard = servers.shardConnectionString(servers.shardIds[0] ?? '');
  const root = new MongoClient(toShard);
  stack.defer(() => root.close());
  const admin = root.db('admin');
  await admin.command({ createUser: reader.user, pwd: reader.password, roles: ['readAnyDatabase'] });
  const asReader = new URL(toShard);
  [asReader.username, asReader.password] = [reader.user, reader.password];

  const client = new MongoClient(asReader.href);
  stack.defer(() => client.close());
  const collection = new UUID();
  const refusal = async (command: Document): Promise<unknown> => {
    try {
      return await client.db('db').command(command);
    } catch (error) {
      return (error as MongoServerError).code;
    }
  };
  for (const name of ['find', 'count', 'listIndexes']) expect(await refusal({ [name]: collection })).toBe(13);

  const open = () =>
    openCluster('cluster0', servers.connectionString, { direct: true, shardCredentials: reader, signal });
  // Not for the role that 8.0 wants besides, which the same advice names.
  const forItsPrivilege = /cannot be read directly: (?!its user lacks the role).*useUUID on the cluster/;
  await expect(open()).rejects.toMatchObject({
    error: 'shardsNotReachable',
    errorDescription: expect.stringMatching(forItsPrivilege) as string,
  });
  await expect(openCluster('cluster0', asReader.href, { direct: false, signal })).rejects.toMatchObject({
    error: 'permissionMissing',
    errorDescription: expect.stringContaining('lacks replSetGetConfig on the cluster') as string,
  });
  await admin.command({
    createRole: 'byUuid',
    privileges: [{ resource: { cluster: true }, actions: ['useUUID'] }],
    roles: [],
  });
  await admin.command({ grantRolesToUser: reader.user, roles: ['byUuid'] });
  expect(await refusal({ find: collection })).toBe(26);
  if (servers.version[0] >= 8) {
    await expect(open()).rejects.toMatchObject({
      error: 'shardsNotReachable',
      errorDescription: expect.stringContaining('lacks the role directShardOperations') as string,
    });
    await admin.command({ grantRolesToUser: reader.user, roles: ['directShardOperations'] });
  }
  await (await open()).close();
});
