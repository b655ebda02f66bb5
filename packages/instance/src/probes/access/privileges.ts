import { randomBytes } from 'node:crypto';
import type { Document } from 'mongodb';
import { codeIn, expectDone, expectRefused, expectThat } from '../framework/expectation.js';
import { NotTried, type Probe } from '../framework/probe.js';
import type { Fixture } from '../framework/fixture.js';
import type { Server } from '../framework/server.js';

const corpus = 'corpus 07-auth';
const unauthorized = 13;

/** Creates a user of the scratch database on a server, and logs in as it. */
async function userWith(fixture: Fixture, on: Server, roles: readonly string[]): Promise<Server> {
  const [user, password] = [`probe_${randomBytes(4).toString('hex')}`, randomBytes(16).toString('hex')];
  const reply = await fixture.ask(
    { createUser: user, pwd: password, roles: roles.map((role) => ({ role, db: 'admin' })) },
    on,
  );
  if (codeIn(reply) === unauthorized) throw new NotTried('the login may not createUser');
  expectDone('createUser', reply);
  return fixture.as({ user, password, authSource: fixture.db }, on);
}

async function isRefused(fixture: Fixture, command: Document, on: Server, db?: string): Promise<boolean> {
  return codeIn(await fixture.ask(command, on, db)) === unauthorized;
}

/** What roles allow. */
export const privileges: readonly Probe[] = [
  {
    name: 'use-uuid-is-needed',
    sentence:
      'A read by UUID is refused (13) to a user of readAnyDatabase, and allowed with the role backup, which has ' +
      'useUUID.',
    needs: ['direct', 'users'],
    source: 'measured on 5.0.7',
    otherwise: 'The checks before a start may pass although the copy is refused.',
    async run(fixture) {
      const find = { find: await fixture.uuid(await fixture.collection([{ _id: 1 }]), fixture.shard), limit: 1 };
      expectRefused(
        'the read',
        await fixture.ask(find, await userWith(fixture, fixture.shard, ['readAnyDatabase'])),
        unauthorized,
      );
      const roles = [
        'readAnyDatabase',
        'backup',
        ...(fixture.isSharded && fixture.version[0] >= 8 ? ['directShardOperations'] : []),
      ];
      expectDone('the read with backup', await fixture.ask(find, await userWith(fixture, fixture.shard, roles)));
    },
  },
  {
    name: 'backup-may-append-notes',
    sentence: 'appendOplogNote is refused (13) to a user of readAnyDatabase, and allowed with the role backup.',
    needs: ['direct', 'users'],
    source: corpus,
    otherwise: 'Idle shards may delay a commit by ten seconds.',
    async run(fixture) {
      const note = { appendOplogNote: 1, data: { convoy: 'probe' } };
      expectThat(
        'the note is refused',
        await isRefused(fixture, note, await userWith(fixture, fixture.shard, ['readAnyDatabase']), 'admin'),
        'succeeds',
      );
      expectDone(
        'the note with backup',
        await fixture.ask(note, await userWith(fixture, fixture.shard, ['backup']), 'admin'),
      );
    },
  },
  {
    name: 'streams-need-their-actions',
    sentence:
      'A stream of the whole cluster is allowed with readAnyDatabase, and refused (13) with clusterMonitor only.',
    needs: ['users'],
    source: corpus,
    otherwise: 'The checks before a start may pass although streams are refused.',
    async run(fixture) {
      const stream = {
        aggregate: 1,
        pipeline: [{ $changeStream: { allChangesForCluster: true } }, { $match: { 'ns.db': fixture.db } }],
        cursor: { batchSize: 0 },
      };
      expectThat(
        'the stream is refused',
        await isRefused(fixture, stream, await userWith(fixture, fixture.front, ['clusterMonitor']), 'admin'),
        'succeeds',
      );
      expectDone(
        'the stream with readAnyDatabase',
        await fixture.ask(stream, await userWith(fixture, fixture.front, ['readAnyDatabase']), 'admin'),
      );
    },
  },
  {
    name: 'status-shows-privileges',
    sentence: 'connectionStatus with showPrivileges lists the actions that the login is granted.',
    needs: ['users'],
    source: corpus,
    otherwise: 'The checks before a start may not name missing privileges.',
    async run(fixture) {
      const { authInfo } = await fixture.ask(
        { connectionStatus: 1, showPrivileges: true },
        await userWith(fixture, fixture.front, ['backup']),
        'admin',
      );
      const held = ((authInfo as Document | undefined)?.['authenticatedUserPrivileges'] ?? []) as {
        resource: Document;
        actions: string[];
      }[];
      const ofCluster = held.filter(({ resource }) => resource['cluster'] === true).flatMap(({ actions }) => actions);
      expectThat(
        'appendOplogNote and useUUID on the cluster',
        ['appendOplogNote', 'useUUID'].every((action) => ofCluster.includes(action)),
        ofCluster,
      );
    },
  },
  {
    name: 'users-of-the-cluster-are-not-of-its-shards',
    sentence: 'A user that was created through the router cannot log in to a shard (18).',
    needs: ['direct', 'users'],
    topology: 'sharded',
    source: corpus,
    otherwise: "Nothing is lost: the shards' logins are configured separately.",
    async run(fixture) {
      const [user, password] = [`probe_${randomBytes(4).toString('hex')}`, randomBytes(16).toString('hex')];
      const made = await fixture.ask({ createUser: user, pwd: password, roles: [] });
      if (codeIn(made) === unauthorized) throw new NotTried('the login may not createUser');
      const refusal = await fixture.ask(
        { ping: 1 },
        fixture.as({ user, password, authSource: fixture.db }, fixture.shard),
        'admin',
      );
      expectRefused('the login', refusal, 18);
    },
  },
  {
    name: 'direct-reads-need-their-role',
    sentence:
      'A shard refuses (13) direct reads to a user without issueDirectShardOperations, and allows them with the ' +
      'role directShardOperations.',
    from: [8, 0, 0],
    needs: ['direct', 'users', 'twoShards'],
    source: 'manual: Shard Direct Commands',
    otherwise: 'The checks before a start may pass although shards refuse reads.',
    async run(fixture) {
      const find = { find: await fixture.collection([{ _id: 1 }]) };
      expectThat(
        'the read is refused',
        await isRefused(fixture, find, await userWith(fixture, fixture.shard, ['readAnyDatabase'])),
        'succeeds',
      );
      expectDone(
        'the read with the role',
        await fixture.ask(find, await userWith(fixture, fixture.shard, ['readAnyDatabase', 'directShardOperations'])),
      );
    },
  },
];
