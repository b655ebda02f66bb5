import { BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { Catalog, CatalogEntry, Sharding } from '../../../src/catalog/namespace.js';
import type { ClusterClient } from '../../../src/cluster/node-client.js';
import {
  type CatalogUsersCheck,
  checkCatalogPrivileges,
  checkReaders,
} from '../../../src/preflight/catalog-privileges.js';
import { fakeCluster, FakeNodeClient, serverError } from '../fake-node-client.js';
import { keyPattern } from '../catalog/as-read.js';
import { Fixture, requestOf } from './fixture.js';

const { signal } = new AbortController();
const everyBuckets = { system_buckets: '' };
const reads = ['find', 'listIndexes'];
const writes = [...reads, 'insert', 'update', 'remove', 'bypassDocumentValidation', 'createIndex'];
/** A privilege on every database, which covers no system collection. */
const everything = { resource: { db: '', collection: '' }, actions: [...writes, 'splitChunk', 'moveChunk'] };

function loggedIn(...authenticatedUserPrivileges: Document[]): FakeNodeClient {
  const authenticatedUsers = [{ user: 'custom', db: 'admin' }];
  return new FakeNodeClient('node', {
    connectionStatus: () => ({ authInfo: { authenticatedUsers, authenticatedUserPrivileges } }),
  });
}

const buckets = (...actions: string[]): Document => ({ resource: everyBuckets, actions });

/** A cluster of two shards whose users have these privileges; its shards are read directly if they have any. */
function clusterOf(name: string, router: Document[], shards?: Document[][], more: Partial<ClusterClient> = {}) {
  const shardIds = ['shard0', 'shard1'];
  const clients = shards?.map((privileges, at) => [shardIds[at] ?? '', loggedIn(everything, ...privileges)] as const);
  return fakeCluster({
    name,
    version: [8, 0, 0],
    router: loggedIn(everything, ...router),
    shardIds,
    ...(clients === undefined ? {} : { shards: new Map(clients) }),
    ...more,
  });
}

function entryOf(name: string, sharding: Sharding | null = null): CatalogEntry {
  const plain = { uuid: '0c', options: {}, indexes: [], primaryShard: 'shard0', sizeBytes: 0, documentCount: 0 };
  return { database: 'app', name, type: 'collection', ...plain, sharding };
}

function shardedBy(key: Document, ...bounds: Document[]): Sharding {
  const chunks = bounds.slice(1).map((max, at) => ({
    min: BSON.serialize(bounds[at] ?? {}),
    max: BSON.serialize(max),
    shard: `shard${at % 2}`,
  }));
  return { key: keyPattern(key), unique: false, chunks, everMoved: false };
}

const [low, high] = [new BSON.MinKey(), new BSON.MaxKey()];
const byMeta = shardedBy({ meta: 1 }, { meta: low }, { meta: 0 }, { meta: high });
const time = 'control.min.at';
const byTime = shardedBy({ [time]: 1 }, { [time]: low }, { [time]: new Date(0) }, { [time]: high });
const inOneChunk = shardedBy({ [time]: 1 }, { [time]: low }, { [time]: high });
const requested = shardedBy({ meta: 1, [time]: 1 });
const series = [entryOf('system.buckets.s')];

type Users = Partial<Pick<CatalogUsersCheck, 'source' | 'destination' | 'reversible' | 'openNextSource'>>;

/** Checks users of which those that are not given may do everything with buckets. */
async function refusal(users: Users, catalog: Catalog = series): Promise<string> {
  const all = buckets(...writes, 'splitChunk', 'moveChunk');
  const check = {
    source: clusterOf('cluster0', [all]),
    destination: clusterOf('cluster1', [all]),
    reversible: false,
    signal,
    ...users,
  };
  try {
    await checkCatalogPrivileges(check, catalog, catalog);
    return '';
  } catch (error) {
    return String((error as { errorDescription?: unknown }).errorDescription);
  }
}

describe('time series need on their buckets', () => {
  it.each([
    ['reading of the source', 'source', reads],
    ['writing past the validators of the destination', 'destination', writes],
  ] as const)('%s', async (_, side, needed) => {
    const name = side === 'source' ? 'cluster0' : 'cluster1';
    for (const without of needed) {
      const granted = needed.filter((action) => action !== without);
      const said = await refusal({ [side]: clusterOf(name, [buckets(...granted)]) });
      const asked = `{resource: {db: "", system_buckets: ""}, actions: ${JSON.stringify(needed)}}`;
      expect(said).toBe(
        `The user of ${name} lacks ${needed.join(', ')} on system_buckets of every database, which app.s needs. ` +
          `Grant it: ${asked}. Or exclude it.`,
      );
    }
    expect(await refusal({ [side]: clusterOf(name, [buckets(...needed)]) })).toBe('');
  });

  it.each([
    [{ system_buckets: 's' }, true],
    [{ db: 'app', system_buckets: '' }, true],
    [{ db: '', collection: 'system.buckets.s' }, true],
    [{ db: 'app', collection: 'system.buckets.s' }, true],
    [{ anyResource: true }, true],
    [{ db: 'app', collection: 's' }, false],
    [{ db: 'app', collection: '' }, false],
    [{ db: 'other', system_buckets: '' }, false],
    [{ system_buckets: 't' }, false],
  ])('what a privilege on %j gives: %s', async (resource, covers) => {
    expect((await refusal({ source: clusterOf('cluster0', [{ resource, actions: reads }]) })) === '').toBe(covers);
  });

  it('reading of every shard that is read directly', async () => {
    const of = (...shards: Document[][]) => clusterOf('cluster0', [buckets(...reads)], shards);
    expect(await refusal({ source: of([buckets(...reads)], []) })).toMatch(
      /^The user of shard1 of cluster0 lacks find, listIndexes on system_buckets of every database, which app\.s needs/,
    );
    expect(await refusal({ source: of([buckets('find')], [buckets('find')]) })).toMatch(
      /^The users of shard0 of cluster0, shard1 of cluster0 lack find, listIndexes on system_buckets/,
    );
    expect(await refusal({ source: of([buckets(...reads)], [buckets(...reads)]) })).toBe('');
  });

  it.each([
    ['splits and moves, where a bound has a time', byTime, {}, ['splitChunk', 'moveChunk']],
    ['moves of the only chunk', inOneChunk, {}, ['moveChunk']],
    ['splits on the only shard', byTime, { shardIds: ['shard0'] }, ['splitChunk']],
    ['both for a requested key with a time', requested, {}, ['splitChunk', 'moveChunk']],
    ['none for a key without a time', byMeta, {}, []],
    ['none on a replica set', byTime, { kind: 'replicaSet', shardIds: ['rs'] }, []],
    ['none if they are not sharded', null, {}, []],
  ] as const)('%s', async (_, sharding, more, actions) => {
    const catalog = [entryOf('system.buckets.s', sharding)];
    const of = (...granted: string[]) => clusterOf('cluster1', [buckets(...writes, ...granted)], undefined, more);
    expect(await refusal({ destination: of(...actions) }, catalog)).toBe('');
    const said = await refusal({ destination: of() }, catalog);
    if (actions.length === 0) expect(said).toBe('');
    else expect(said).toContain(`createIndex, ${actions.join(', ')} on system_buckets`);
  });

  it('both roles on both sides, if the migration may be reversed', async () => {
    const source = clusterOf('cluster0', [buckets(...reads)]);
    expect(await refusal({ source })).toBe('');
    expect(await refusal({ source, reversible: true })).toMatch(
      /^The user of cluster0 lacks .*bypassDocumentValidation/,
    );
    let closed = 0;
    const close = () => Promise.resolve(void (closed += 1));
    const next = clusterOf('cluster1', [], [[], [buckets(...reads)]]);
    const openNextSource = () => Promise.resolve({ ...next, close });
    expect(await refusal({ reversible: true, openNextSource })).toMatch(/^The user of shard0 of cluster1 lacks find/);
    expect(await refusal({ reversible: false, openNextSource })).toBe('');
    expect(closed).toBe(1);
  });
});

it('without time series and functions nobody is asked about the rights on them', async () => {
  const [router, other] = [loggedIn(everything), loggedIn(everything)];
  const source = clusterOf('cluster0', [], [[], []], { router });
  const destination = clusterOf('cluster1', [], undefined, { router: other });
  const openNextSource = () => Promise.reject(new Error('not needed'));
  const users = { source, destination, reversible: true, openNextSource };
  expect(await refusal(users, [entryOf('c'), entryOf('byTime', byTime)])).toBe('');
  expect([...router.sent, ...other.sent]).toEqual([]);
});

it('buckets that are left out, as those of a source before 6.0, need nothing', async () => {
  const source = clusterOf('cluster0', [], undefined, { version: [5, 0, 7] });
  await expect(checkReaders(source, series, signal)).resolves.toBeUndefined();
});

describe('functions need', () => {
  it.each([
    ['source', ['find', 'listIndexes']],
    ['destination', ['find', 'listIndexes', 'insert', 'update', 'remove', 'bypassDocumentValidation']],
  ] as const)('of the user of the %s %j', async (side, actions) => {
    const name = side === 'source' ? 'cluster0' : 'cluster1';
    const resource = { db: '', collection: 'system.js' };
    const full = { resource, actions: ['anyAction'] };
    const of = (granted: readonly string[]) => ({
      source: clusterOf('cluster0', [full]),
      destination: clusterOf('cluster1', [full]),
      [side]: clusterOf(name, [{ resource, actions: granted }]),
    });
    expect(await refusal(of(actions), [entryOf('system.js')])).toBe('');
    expect(await refusal(of(actions.slice(0, -1)), [entryOf('system.js')])).toMatch(
      new RegExp(`^The user of ${name} lacks ${actions.join(', ')} on system\\.js of every database`),
    );
  });
});

describe('a source whose shards refuse to show the indexes of buckets', () => {
  function refusing(...granted: Document[]): Fixture {
    const fixture = new Fixture();
    fixture.source = fixture.destination = { version: [8, 0, 0] };
    fixture.sourceServer.addSharded('app.system.buckets.s', { meta: 1 }, false, [
      { min: {}, max: {}, shard: 'shard0' },
    ]);
    const all = [{ cluster: true }, everything.resource].map((resource) => ({ resource, actions: ['anyAction'] }));
    fixture.shardAuthInfo = {
      authenticatedUsers: [{ user: 'custom', db: 'admin' }],
      authenticatedUserPrivileges: [...all, ...granted],
    };
    fixture.refusedIndexes = serverError(13, 'Unauthorized');
    return fixture;
  }

  it.each([
    ['what their users lack', [], /shard0 of cluster0, shard1 of cluster0 lack find, listIndexes on system_buckets/],
    ['what a server says, where they lack nothing', [buckets(...reads)], /refused a command of Convoy's user/],
  ] as const)('is refused with %s', async (_, granted, says) => {
    const { items } = await refusing(...granted).report(requestOf());
    expect(items.find(({ check }) => check === 'collections')).toMatchObject({
      result: 'failed',
      error: 'permissionMissing',
      description: expect.stringMatching(says) as unknown,
    });
  });
});
