import { type Db, type Document, MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import {
  destinationBlockPrivileges,
  destinationPrivileges,
  type RequiredPrivilege,
  shardPrivileges,
  sourceBlockPrivileges,
  sourcePrivileges,
  verifiedPrivileges,
} from '../../../src/preflight/required-privileges.js';
import { patience_ms } from '../../../../../test/patience.js';
import { Fixture, type Side } from './fixture.js';
import type { ServedInstance } from './served-instance.js';
import { startBody } from './start-conditions.js';

const releases = { cluster0: '8.0', cluster1: '8.0', withUsers: true } as const;
const user = { user: 'custom', password: 'secret' };
const sensors = 6;
const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1) + second * 1_000);

const resources: Readonly<Record<RequiredPrivilege['resource'], Document>> = {
  cluster: { cluster: true },
  everyDatabase: { db: '', collection: '' },
  config: { db: 'config', collection: '' },
  balancerSettings: { db: 'config', collection: 'settings' },
  users: { db: 'admin', collection: 'system.users' },
  roles: { db: 'admin', collection: 'system.roles' },
};

type Run = (command: Document) => Promise<unknown>;

/** The users of one place, all with the same rights: of a router, or of the shards of a cluster. */
class Place {
  #roles = 0;

  constructor(private readonly run: Run) {}

  /** Makes the user, who has what every migration needs and nothing else. */
  async open(required: readonly RequiredPrivilege[]): Promise<void> {
    await this.run({ createUser: user.user, pwd: user.password, roles: [] });
    for (const { resource, actions } of required) await this.grant(resources[resource], actions);
  }

  async grant(resource: Document, actions: readonly string[]): Promise<void> {
    this.#roles += 1;
    const role = `custom${this.#roles}`;
    await this.run({ createRole: role, privileges: [{ resource, actions }], roles: [] });
    await this.run({ grantRolesToUser: user.user, roles: [role] });
  }
}

function router({ client }: Side): Place {
  return new Place((command) => client.db('admin').command(command));
}

function shards({ client }: Side): Place {
  return new Place(async (command) => {
    const listed = await client.db('admin').command({ listShards: 1 });
    for (const { host } of listed.shards as { host: string }[]) {
      const [, address = ''] = host.split('/');
      await using shard = new MongoClient(`mongodb://root:secret@${address}/?directConnection=true&authSource=admin`);
      await shard.db('admin').command(command);
    }
  });
}

function asCustom({ connectionString }: Side): string {
  const url = new URL(connectionString);
  [url.username, url.password] = [user.user, user.password];
  return url.href;
}

/** The places of both clusters, by the names in refusals. */
async function openPlaces({ cluster0, cluster1 }: Fixture, reverses: boolean): Promise<Map<string, Place>> {
  const reads = [...sourcePrivileges.sharded, ...(reverses ? sourceBlockPrivileges : [])];
  const writes = [...destinationPrivileges.sharded, ...verifiedPrivileges];
  const both = [...reads, ...writes, ...destinationBlockPrivileges];
  const places = new Map<string, Place>();
  for (const [name, side, required] of [
    ['cluster0', cluster0, reverses ? both : reads],
    ['cluster1', cluster1, reverses ? both : writes],
  ] as const) {
    const [ofRouter, ofShards] = [router(side), shards(side)];
    await ofRouter.open(required);
    await ofShards.open(shardPrivileges([8, 0, 0]));
    places.set(name, ofRouter).set(`the shards of ${name}`, ofShards);
  }
  return places;
}

const refusal = /^The users? of (.+) lacks? .*Grant it: \{resource: (\{.*?\}), actions: (\[.*?\])\}/;

/**
 * Starts, and grants what each refusal says, until it is accepted.
 * @returns what was asked for, and where
 */
async function startWithGrants(
  instance: ServedInstance,
  places: Map<string, Place>,
  body: Document,
): Promise<string[]> {
  const asked: string[] = [];
  for (;;) {
    const { body: reply } = await instance.command('start', body);
    if (reply.success === true) return asked;
    const [, who = '', resource = '', actions = ''] = refusal.exec(String(reply.errorDescription)) ?? [];
    const where = who.includes(' of ') ? `the shards of ${who.slice(-'cluster0'.length)}` : who;
    const place = places.get(where);
    if (place === undefined || asked.length > 10) throw new Error(`Nothing to grant: ${JSON.stringify(reply)}`);
    const said = JSON.parse(resource.replaceAll(/(\w+):/g, '"$1":')) as Document;
    asked.push(`${where}: ${Object.values(said).join('')}${'system_buckets' in said ? 'buckets' : ''} ${actions}`);
    await place.grant(said, JSON.parse(actions) as string[]);
  }
}

async function measure(db: Db, from_seconds: number, to_seconds: number): Promise<void> {
  for (let second = from_seconds; second < to_seconds; second += 1)
    await db
      .collection('readings')
      .insertMany(Array.from({ length: sensors }, (_, sensor) => ({ at: at(second), sensor, value: second })));
}

/** Shards the readings by sensor and time, with a part on each of two shards, and unsharded ones beside them. */
async function load(side: Side): Promise<Db> {
  const db = side.client.db('plant');
  const admin = side.client.db('admin');
  for (const name of ['readings', 'plain'])
    await db.createCollection(name, { timeseries: { timeField: 'at', metaField: 'sensor' } });
  await admin.command({ shardCollection: 'plant.readings', key: { sensor: 1, at: 1 } });
  await admin.command({ split: 'plant.system.buckets.readings', middle: { meta: 3, 'control.min.at': at(0) } });
  const [first, second] = await side.shardIds();
  for (const [meta, to] of [
    [0, first],
    [5, second],
  ])
    await admin.command({ moveChunk: 'plant.system.buckets.readings', find: { meta, 'control.min.at': at(60) }, to });
  await measure(db, 0, 10);
  await db.collection('plain').insertOne({ at: at(0), sensor: 1 });
  return db;
}

async function expectEqual(source: Db, destination: Db): Promise<void> {
  for (const name of ['readings', 'plain']) {
    const measured = (db: Db) => db.collection(name).find().sort({ at: 1, sensor: 1 }).toArray();
    expect(await measured(destination)).toEqual(await measured(source));
  }
}

const settings = { sourceAccess: 'direct', shards: { cluster0: user, cluster1: user } };
const reads = '["find","listIndexes"]';
const writes = '"find","listIndexes","insert","update","remove","bypassDocumentValidation"';
const writesSeries = `[${writes},"createIndex","splitChunk","moveChunk"]`;

it(
  'users who are granted what the refusals of a start say, and no more, migrate time series and functions',
  async () => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
    const source = await load(fixture.cluster0);
    const functions = source.collection<{ _id: string; value: string }>('system.js');
    await functions.insertOne({ _id: 'f', value: 'one' });
    await source.createCollection('log', { capped: true, size: 10_000 });
    await source.collection('log').insertOne({ n: 1 });
    const places = await openPlaces(fixture, false);
    const logins = { cluster0: asCustom(fixture.cluster0), cluster1: asCustom(fixture.cluster1) };
    await using instance = await fixture.startInstance({ ...settings, ...logins });
    expect(await startWithGrants(instance, places, startBody())).toEqual([
      `cluster0: system.js ${reads}`,
      `cluster0: buckets ${reads}`,
      'the shards of cluster0: system.js ["find"]',
      `the shards of cluster0: buckets ${reads}`,
      'cluster1:  ["convertToCapped"]',
      `cluster1: system.js [${writes}]`,
      `cluster1: buckets ${writesSeries}`,
    ]);
    await instance.untilCanCommit();
    await measure(source, 5, 20);
    await source.collection('readings').deleteMany({ sensor: 2 });
    await functions.updateOne({ _id: 'f' }, { $set: { value: 'two' } });
    await source.collection('log').insertOne({ n: 2 });
    await instance.commitWhenOffered();
    const destination = fixture.cluster1.client.db('plant');
    await expectEqual(source, destination);
    expect(await destination.collection('system.js').find().toArray()).toEqual(await functions.find().toArray());
    expect(await destination.collection('log').options()).toMatchObject({ capped: true });
    expect(await destination.collection('log').countDocuments()).toBe(2);
  },
  patience_ms() * 4,
);

it(
  'a migration of time series that may be reversed asks for both roles on both sides',
  async () => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
    const source = await load(fixture.cluster0);
    const places = await openPlaces(fixture, true);
    const logins = { cluster0: asCustom(fixture.cluster0), cluster1: asCustom(fixture.cluster1) };
    await using instance = await fixture.startInstance({ ...settings, ...logins });
    const body = startBody({ reversible: true, enableUserWriteBlocking: true });
    expect(await startWithGrants(instance, places, body)).toEqual([
      `cluster0: buckets ${reads}`,
      `the shards of cluster0: buckets ${reads}`,
      `cluster1: buckets ${writesSeries}`,
      `cluster0: buckets ${writesSeries}`,
      `the shards of cluster1: buckets ${reads}`,
    ]);
    await instance.commitWhenOffered();
    const destination = fixture.cluster1.client.db('plant');
    await measure(destination, 20, 30);
    await instance.accepted('reverse');
    await measure(destination, 30, 40);
    await instance.commitWhenOffered();
    await expectEqual(destination, source);
    expect(await source.collection('readings').countDocuments()).toBe(30 * sensors);
  },
  patience_ms() * 4,
);
