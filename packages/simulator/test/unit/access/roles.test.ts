import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { toExtendedJson } from '../../extended-json.js';
import { builtInPrivileges } from '../../../src/access/privilege/built-in-roles.js';
import { PrivilegeSet } from '../../../src/access/privilege/privilege-set.js';
import { clusterResource, databaseResource, namespaceResource } from '../../../src/access/privilege/resource.js';
import { ServerVersion } from '../../../src/node/server-version.js';

const version = ServerVersion.parse('5.0');

function allowed(db: string, ...roles: string[]): PrivilegeSet {
  return new PrivilegeSet(roles.flatMap((role) => builtInPrivileges({ role, db }, version) ?? []));
}

interface Listed {
  resource: unknown;
  actions: string[];
}

/** What `connectionStatus` returned about the users of the recorded cluster. */
const recorded = readFileSync(new URL('../../../corpus/07-auth.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line.includes('"connectionStatus"'))
  .map(
    (line) =>
      JSON.parse(line) as {
        reply: {
          authInfo: { authenticatedUserRoles: { role: string; db: string }[]; authenticatedUserPrivileges: Listed[] };
        };
      },
  )
  .map(({ reply }) => reply.authInfo);

function inOrder(privileges: Listed[]): string[] {
  return privileges.map((each) => JSON.stringify(each)).sort();
}

describe('built-in roles', () => {
  it.each(recorded)(
    'of a recorded user have the recorded privileges: $authenticatedUserRoles',
    ({ authenticatedUserRoles, authenticatedUserPrivileges }) => {
      const privileges = new PrivilegeSet(
        authenticatedUserRoles.flatMap((role) => builtInPrivileges(role, version) ?? []),
      );
      expect(inOrder(toExtendedJson(privileges.toDocuments()) as Listed[])).toEqual(
        inOrder(authenticatedUserPrivileges),
      );
    },
  );

  it('of a database end at its border', () => {
    const privileges = allowed('a', 'dbOwner');
    expect(privileges.allows(namespaceResource('a', 'c'), 'insert')).toBe(true);
    expect(privileges.allows(namespaceResource('b', 'c'), 'insert')).toBe(false);
    expect(privileges.allows(namespaceResource('a', 'system.users'), 'find')).toBe(false);
    expect(privileges.allows(clusterResource, 'listDatabases')).toBe(false);
  });

  it('of any database leave out local and config', () => {
    const privileges = allowed('admin', 'readWriteAnyDatabase');
    for (const db of ['local', 'config']) expect(privileges.allows(databaseResource(db), 'find')).toBe(false);
    expect(privileges.allows(databaseResource('other'), 'find')).toBe(true);
    expect(privileges.allows(namespaceResource('other', 'system.buckets.t'), 'insert')).toBe(true);
    expect(privileges.allows(namespaceResource('other', 'system.views'), 'insert')).toBe(false);
  });

  it('on buckets of time series come with roles on any database only', () => {
    const buckets = namespaceResource('a', 'system.buckets.t');
    for (const role of ['read', 'readWrite', 'dbOwner']) expect(allowed('a', role).allows(buckets, 'find')).toBe(false);
    for (const role of ['readAnyDatabase', 'backup']) {
      expect(allowed('admin', role).allows(buckets, 'find')).toBe(true);
      expect(allowed('admin', role).allows(buckets, 'insert')).toBe(false);
    }
    for (const action of ['insert', 'collMod', 'createIndex', 'bypassDocumentValidation'])
      expect(allowed('admin', 'restore').allows(buckets, action)).toBe(true);
    for (const action of ['update', 'remove']) {
      expect(allowed('admin', 'restore').allows(buckets, action)).toBe(false);
      expect(allowed('admin', 'readWriteAnyDatabase').allows(buckets, action)).toBe(true);
    }
    expect(allowed('admin', 'clusterManager').allows(buckets, 'moveChunk')).toBe(true);
  });

  it('let __system do everything, and root almost', () => {
    expect(allowed('admin', '__system').allows(namespaceResource('local', 'oplog.rs'), 'remove')).toBe(true);
    expect(allowed('admin', 'root').allows(namespaceResource('local', 'system.replset'), 'remove')).toBe(false);
    expect(allowed('admin', 'root').allows(clusterResource, 'shutdown')).toBe(true);
  });

  it('depend on the release', () => {
    const restore = (series: string): PrivilegeSet =>
      new PrivilegeSet(builtInPrivileges({ role: 'restore', db: 'admin' }, ServerVersion.parse(series)));
    expect(restore('5.0').allows(clusterResource, 'bypassWriteBlockingMode')).toBe(false);
    expect(restore('6.0').allows(clusterResource, 'bypassWriteBlockingMode')).toBe(true);
    const monitor = (series: string): PrivilegeSet =>
      new PrivilegeSet(builtInPrivileges({ role: 'clusterMonitor', db: 'admin' }, ServerVersion.parse(series)));
    const buckets = namespaceResource('a', 'system.buckets.t');
    expect(['5.0', '8.0'].map((series) => monitor(series).allows(buckets, 'indexStats'))).toEqual([false, true]);
    expect(builtInPrivileges({ role: 'directShardOperations', db: 'admin' }, version)).toBeUndefined();
    expect(builtInPrivileges({ role: 'directShardOperations', db: 'admin' }, ServerVersion.parse('7.0'))).toBeDefined();
  });
});
