import type { Document } from 'mongodb';
import { codeIn, expectDone, expectRefused, expectThat } from '../framework/expectation.js';
import type { Probe } from '../framework/probe.js';
import type { Fixture } from '../framework/fixture.js';
import type { Server } from '../framework/server.js';

const corpus = 'corpus 07-auth';
const unauthorized = 13;

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
        await fixture.ask(find, await fixture.as(['readAnyDatabase'], fixture.shard)),
        unauthorized,
      );
      const roles = [
        'readAnyDatabase',
        'backup',
        ...(fixture.isSharded && fixture.version[0] >= 8 ? ['directShardOperations'] : []),
      ];
      expectDone('the read with backup', await fixture.ask(find, await fixture.as(roles, fixture.shard)));
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
        await isRefused(fixture, note, await fixture.as(['readAnyDatabase'], fixture.shard), 'admin'),
        'succeeds',
      );
      expectDone('the note with backup', await fixture.ask(note, await fixture.as(['backup'], fixture.shard), 'admin'));
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
        await isRefused(fixture, stream, await fixture.as(['clusterMonitor'], fixture.front), 'admin'),
        'succeeds',
      );
      expectDone(
        'the stream with readAnyDatabase',
        await fixture.ask(stream, await fixture.as(['readAnyDatabase'], fixture.front), 'admin'),
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
        await fixture.as(['backup'], fixture.front),
        'admin',
      );
      const held = ((authInfo as Document | undefined)?.authenticatedUserPrivileges ?? []) as {
        resource: Document;
        actions: string[];
      }[];
      const ofCluster = held.filter(({ resource }) => resource.cluster === true).flatMap(({ actions }) => actions);
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
      const refusal = await fixture.ask({ ping: 1 }, await fixture.as([], fixture.front, fixture.shard), 'admin');
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
        await isRefused(fixture, find, await fixture.as(['readAnyDatabase'], fixture.shard)),
        'succeeds',
      );
      expectDone(
        'the read with the role',
        await fixture.ask(find, await fixture.as(['readAnyDatabase', 'directShardOperations'], fixture.shard)),
      );
    },
  },
];
