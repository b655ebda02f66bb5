import { MongoClient, type Db, Timestamp } from 'mongodb';
import { expect, test, it } from 'vitest';
import { only } from '../../../../../../test/only.js';
import { clientOptions, MemberClients } from '../../../../src/cluster/driver/clients.js';
import { signal } from './client-to-scripted-node.js';

test('leave retries to the one policy of the instance', () => {
  expect(clientOptions({}, new URLSearchParams('retryWrites=true&retryReads=true'))).toMatchObject({
    retryReads: false,
    retryWrites: false,
  });
});

test('in the connection string override the defaults', () => {
  expect(clientOptions({ poolSizeMax: 7 })).toMatchObject({ appName: 'convoy', maxPoolSize: 7 });
  expect(clientOptions({ poolSizeMax: 7 }, new URLSearchParams('maxpoolsize=3'))).not.toHaveProperty('maxPoolSize');
});

test.each([
  ['', 2_000],
  ['heartbeatFrequencyMS=700', 700],
])('wait two seconds for a member that has nothing new to say about itself: %s', (written, expected) => {
  const client = new MongoClient(`mongodb://a.test/?${written}`, clientOptions({}, new URLSearchParams(written)));
  expect(client.options).toMatchObject({ heartbeatFrequencyMS: expected });
});

test.each([
  ['minPoolSize=100', 100],
  ['minpoolsize=30&maxConnecting=1', 30],
  ['minPoolSize=5', 20],
])('raise the maximum of connections to the minimum that a connection string asks for: %s', (written, expected) => {
  expect(clientOptions({ poolSizeMax: 20 }, new URLSearchParams(written))).toMatchObject({ maxPoolSize: expected });
});

test.each([
  ['socketTimeoutMS=2000', { socketTimeoutMS: 0 }],
  ['waitQueueTimeoutMS=1', { waitQueueTimeoutMS: 10_000 }],
  ['waitQueueTimeoutMS=20000', { waitQueueTimeoutMS: 20_000 }],
  ['waitQueueTimeoutMS=0', { waitQueueTimeoutMS: 0 }],
  ['appName=mine', { socketTimeoutMS: 0, waitQueueTimeoutMS: 60_000 }],
  ['serverSelectionTimeoutMS=1&connectTimeoutMS=1', { serverSelectionTimeoutMS: 500, connectTimeoutMS: 500 }],
  ['serverSelectionTimeoutMS=900&connectTimeoutMS=0', { serverSelectionTimeoutMS: 900, connectTimeoutMS: 0 }],
  ['heartbeatFrequencyMS=600000', { heartbeatFrequencyMS: 10_000 }],
  ['heartbeatFrequencyMS=600', { heartbeatFrequencyMS: 600 }],
])('no limit of a connection string ends what a server takes long for: %s', (written, expected) => {
  const client = new MongoClient(`mongodb://a.test/?${written}`, clientOptions({}, new URLSearchParams(written)));
  expect(client.options).toMatchObject(expected);
});

const now = 1_000;
const at = (t: number): Timestamp => new Timestamp({ t, i: 1 });

/** A set's client, which draws these members in turn: their names, with the times of their last writes. */
function setOf(...members: readonly (readonly [string, number])[]): MongoClient {
  let turn = 0;
  const command = () => {
    const [me, t] = members[turn % members.length] ?? ['', now];
    turn += 1;
    return Promise.resolve({ me, lastWrite: { opTime: { ts: at(t) } }, $clusterTime: { clusterTime: at(now) } });
  };
  return only<MongoClient>({ db: () => only<Db>({ command }) });
}

function membersOf(now_ms = () => 0): { members: MemberClients; connected: string[] } {
  const connected: string[] = [];
  const connect = (host: string): MongoClient => (connected.push(host), only<MongoClient>({}));
  return { members: new MemberClients('secondary', connect, now_ms), connected };
}

it('leave out a member that is far behind while there is another one', async () => {
  const { members, connected } = membersOf();
  const set = setOf(['a:1', now - 31], ['b:1', now - 30]);
  expect((await members.choose(set, signal)).host).toBe('b:1');
  expect((await members.choose(set, signal)).host).toBe('b:1');
  expect(connected).toEqual(['b:1']);
});

it('read from a member that is far behind when there is no other, and name it until it has caught up', async () => {
  const { members } = membersOf();
  expect((await members.choose(setOf(['a:1', now - 75]), signal)).host).toBe('a:1');
  const waits = () => [...members.waits('cluster0 replica set')];
  members.heard('a:1', at(now - 75), at(now - 75), at(now));
  expect(waits()).toEqual([{ from: 'cluster0 replica set', what: 'its member a:1, which is far behind the primary' }]);
  members.heard('a:1', at(now - 5), undefined, at(now));
  expect(waits()).toEqual([]);
});

it('do not name a member that nobody reads any more', () => {
  let now_ms = 0;
  const { members } = membersOf(() => now_ms);
  members.heard('a:1', at(now - 75), at(now));
  now_ms = 60_001;
  expect([...members.waits('cluster0 replica set')]).toEqual([]);
});

it('leave the choice to the set where members have no names, or say nothing of their last write', async () => {
  const { members } = membersOf();
  const nameless = only<MongoClient>({ db: () => only<Db>({ command: () => Promise.resolve({}) }) });
  expect(await members.choose(nameless, signal)).toEqual({ client: nameless, host: null });
  const silent = only<MongoClient>({ db: () => only<Db>({ command: () => Promise.resolve({ me: 'a:1' }) }) });
  expect((await members.choose(silent, signal)).host).toBe('a:1');
});
