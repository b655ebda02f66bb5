import { Binary, type Document } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { DirectRoleMissingError, probeShard } from '../../../src/cluster/probe-shard.js';
import { FakeNodeClient, serverError } from '../fake-node-client.js';

const options = { signal: new AbortController().signal };
const role = { resource: { cluster: true }, actions: ['useUUID', 'issueDirectShardOperations'] };
const root = { resource: { anyResource: true }, actions: ['anyAction'] };
const backup = { resource: { cluster: true }, actions: ['useUUID', 'appendOplogNote'] };
/** An action of this name on a database allows no direct reads. */
const elsewhere = { resource: { db: '', collection: '' }, actions: ['issueDirectShardOperations'] };

/** A shard as of 8.0: without the role it refuses namespaces of users, not streams or what does not exist. */
function shard({ privileges, refuses, byName }: { privileges?: Document[]; refuses?: boolean; byName?: number }) {
  return new FakeNodeClient('shard', {
    aggregate: () => ({ cursor: { firstBatch: [] } }),
    find: (_database, _command, exact) => {
      if (exact['find'] instanceof Binary) throw serverError(26, 'NamespaceNotFound');
      if (refuses === true) throw serverError(13, 'Unauthorized');
      if (byName !== undefined) throw serverError(byName, 'Other');
      return { cursor: { firstBatch: [] } };
    },
    connectionStatus: () => ({
      authInfo:
        privileges === undefined
          ? { authenticatedUsers: [], authenticatedUserPrivileges: [] }
          : { authenticatedUsers: [{ user: 'u', db: 'admin' }], authenticatedUserPrivileges: privileges },
    }),
  });
}

describe('a shard that is tried', () => {
  test.each([
    ['refuses a namespace of users', { privileges: [backup], refuses: true }],
    ['is alone in its cluster, and refuses nothing yet', { privileges: [backup, elsewhere] }],
  ] as const)('cannot be read without the role, when it %s', async (_what, given) => {
    await expect(probeShard(shard({ ...given, privileges: [...given.privileges] }), 8, options)).rejects.toThrow(
      DirectRoleMissingError,
    );
  });

  test.each([
    ['the role', { privileges: [backup, role] }],
    ['every action', { privileges: [root] }],
    ['no access control', {}],
  ])('can be read with %s', async (_what, given) => {
    await expect(probeShard(shard(given), 8, options)).resolves.toBeUndefined();
  });

  test('is asked for a name in a database of users, and still for a UUID', async () => {
    const client = shard({ privileges: [role] });
    await probeShard(client, 8, options);
    const finds = client.sent.filter(({ command }) => 'find' in command);
    expect(finds.map(({ database, given }) => [database, given['find'] instanceof Binary])).toEqual([
      ['convoy_metadata', true],
      ['convoy_metadata', false],
    ]);
  });

  test('is not asked for the role before 8.0', async () => {
    const client = shard({ privileges: [backup], refuses: true });
    await expect(probeShard(client, 7, options)).resolves.toBeUndefined();
    expect(client.sent.some(({ command }) => 'connectionStatus' in command)).toBe(false);
  });

  test('reports any other failure as it is', async () => {
    await expect(probeShard(shard({ byName: 11600 }), 8, options)).rejects.toMatchObject({ code: 11600 });
  });
});
