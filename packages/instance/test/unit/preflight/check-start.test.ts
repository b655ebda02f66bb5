import type { StartRequest, StartRequestBody } from '@convoy/api/contract/start-request';
import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { ClusterClient } from '../../../src/cluster/node-client.js';
import { destinationPrivileges } from '../../../src/preflight/required-privileges.js';
import type { FakeCatalogServer } from '../catalog/fake-catalog-server.js';
import { keyPattern } from '../catalog/as-read.js';
import { requestOf, Fixture } from './fixture.js';

const low = new BSON.MinKey();
const high = new BSON.MaxKey();

const replicaSet = { kind: 'replicaSet', shardIds: ['rs'] } as const;
const version60 = { version: [6, 0, 0] } as const;
/** The last step of an upgrade is missing. */
const upgrading = { version: [5, 0, 0], newerBinary: [6, 0, 14] } as const;

async function refusal(fixture: Fixture, request?: StartRequest, more?: { syncUser?: string }): Promise<string> {
  try {
    await fixture.check(request, more);
  } catch (failure) {
    return (failure as { error?: string }).error ?? String(failure);
  }
  return 'accepted';
}

function fixtureWith(parts: { source?: Partial<ClusterClient>; destination?: Partial<ClusterClient> }): Fixture {
  const fixture = new Fixture();
  fixture.source = parts.source ?? {};
  fixture.destination = parts.destination ?? {};
  return fixture;
}

describe('checkStart on clusters', () => {
  it('accepts two clusters and returns the catalog, the plan and warnings', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c', { indexes: [{ v: 1, key: { a: 1 }, name: 'a_1' }] });
    const result = await fixture.check();
    expect(result.sourceCatalog.map((entry) => entry.name)).toEqual(['c']);
    expect(result.plan.collections).toHaveLength(1);
    expect(result.warnings).toEqual([
      { name: 'indexVersionRaised', description: 'Index a_1 of app.c has version 1 and is built with version 2.' },
    ]);
  });

  it.each([
    ['the same cluster', { destination: { clusterId: '0a' } }, 'sourceEqualsDestination'],
    ['a source before 4.4', { source: { version: [4, 2, 9] } }, 'unsupportedServerVersion'],
    ['a source of 4.4, which cannot be read at one time', { source: { version: [4, 4, 29] } }, 'featureNotAvailable'],
    [
      'a destination older than the source',
      { source: { version: [6, 0, 1] }, destination: { version: [5, 0, 9] } },
      'unsupportedServerVersion',
    ],
    [
      'a destination of an older patch level',
      { source: { version: [5, 0, 9] }, destination: { version: [5, 0, 7] } },
      'accepted',
    ],
    ['a newer destination', { destination: { version: [7, 0, 0] } }, 'accepted'],
    ['sharded to replica set', { destination: replicaSet }, 'accepted'],
    ['replica set to replica set', { source: replicaSet, destination: replicaSet }, 'accepted'],
  ] as const)('clusters: %s', async (_, parts, expected) => {
    expect(await refusal(fixtureWith(parts))).toBe(expected);
  });
});

describe('checkStart on options', () => {
  const sharding = { shardingEntries: [] };
  const reversible = { reversible: true, enableUserWriteBlocking: true };

  it.each([
    ['sharding missing', { source: replicaSet }, {}, 'shardingRequired'],
    ['sharding given for it', { source: replicaSet }, { sharding }, 'accepted'],
    ['sharding between sharded clusters', {}, { sharding }, 'shardingNotAllowed'],
    [
      'sharding between replica sets',
      { source: replicaSet, destination: replicaSet },
      { sharding },
      'shardingNotAllowed',
    ],
    [
      'sharding from a sharded cluster to a replica set',
      { destination: replicaSet },
      { sharding },
      'shardingNotAllowed',
    ],
    ['reversible on 5.0', {}, reversible, 'reversibleNeedsSource60'],
    [
      'reversible into a replica set',
      { source: version60, destination: { ...replicaSet, ...version60 } },
      reversible,
      'reversibleUnsupportedTopology',
    ],
    ['write blocking on 5.0', {}, { enableUserWriteBlocking: true }, 'writeBlockingNeedsSource60'],
    [
      'reversible into a sharded cluster',
      { source: { ...replicaSet, ...version60 }, destination: version60 },
      { ...reversible, sharding },
      'reversibleUnsupportedTopology',
    ],
    [
      'reversible with other shard counts',
      { source: version60, destination: { ...version60, shardIds: ['a'] } },
      reversible,
      'reversibleNeedsEqualShardCounts',
    ],
    [
      'reversible on 6.0 with the feature compatibility version of 5.0',
      { source: upgrading, destination: upgrading },
      reversible,
      'writeBlockingNeedsSource60',
    ],
    [
      'write blocking on 6.0 with the feature compatibility version of 5.0',
      { source: upgrading, destination: upgrading },
      { enableUserWriteBlocking: true },
      'writeBlockingNeedsSource60',
    ],
    ['buildIndexes never', {}, { buildIndexes: 'never' }, 'accepted'],
    [
      'a pattern with a back-reference',
      {},
      { includeNamespaces: [{ databaseRegex: { pattern: '(a)\\1' } }] },
      'filterPatternInvalid',
    ],
  ] as const)('options: %s', async (_, parts, body, expected) => {
    expect(await refusal(fixtureWith(parts), requestOf(body as Partial<StartRequestBody>))).toBe(expected);
  });

  it('refuses what the API refuses already, for requests from elsewhere', async () => {
    const fixture = fixtureWith({ source: version60, destination: version60 });
    expect(await refusal(fixture, requestOf({}, { reversible: true, buildIndexes: 'never' }))).toBe(
      'buildIndexesNeverWithReversible',
    );
    expect(await refusal(fixture, requestOf({}, { reversible: true }))).toBe('reversibleNeedsWriteBlocking');
  });

  it('sends nothing to the clusters before options are checked', async () => {
    const fixture = new Fixture();
    await refusal(fixture, requestOf({ sharding }));
    expect(fixture.sourceServer.client.sent).toEqual([]);
  });
});

describe('checkStart on users', () => {
  function authenticated(server: FakeCatalogServer, user: string, privileges: object[]): void {
    server.authInfo = { authenticatedUsers: [{ user, db: 'admin' }], authenticatedUserPrivileges: privileges };
  }
  const all = [{ resource: { anyResource: true }, actions: ['anyAction'] }];

  it('accepts users with every privilege', async () => {
    const fixture = new Fixture();
    authenticated(fixture.sourceServer, 'sync', all);
    authenticated(fixture.destinationServer, 'sync', all);
    expect(await refusal(fixture, requestOf(), { syncUser: 'sync' })).toBe('accepted');
  });

  it('refuses another user than the configured one, without naming either', async () => {
    const fixture = new Fixture();
    authenticated(fixture.sourceServer, 'somebody', all);
    const failure = fixture.check(requestOf(), { syncUser: 'sync' });
    await expect(failure).rejects.toMatchObject({ error: 'syncUserMismatch' });
    await expect(failure).rejects.not.toThrow(/somebody/);
    await expect(fixture.join(requestOf(), { syncUser: 'sync' })).rejects.toMatchObject({ error: 'syncUserMismatch' });
  });

  it('names what is missing', async () => {
    const fixture = new Fixture();
    authenticated(fixture.sourceServer, 'sync', [
      { resource: { cluster: true }, actions: ['inprog', 'listDatabases', 'listShards'] },
      { resource: { db: '', collection: '' }, actions: ['find', 'listCollections', 'listIndexes', 'collStats'] },
      { resource: { db: 'config', collection: '' }, actions: ['find', 'update'] },
      { resource: { db: 'app', collection: '' }, actions: ['changeStream'] },
    ]);
    await expect(fixture.check()).rejects.toMatchObject({
      error: 'permissionMissing',
      errorDescription: 'The user of cluster0 lacks changeStream on every database. Grant it.',
    });
  });

  it('requires the change stream of the destination if the migration is verified', async () => {
    const fixture = new Fixture();
    const [ofCluster, ofEach, ofConfig] = destinationPrivileges.sharded.map(({ actions }) => actions);
    authenticated(fixture.destinationServer, 'sync', [
      { resource: { cluster: true }, actions: ofCluster },
      { resource: { db: '', collection: '' }, actions: ofEach },
      { resource: { db: 'config', collection: '' }, actions: ofConfig },
    ]);
    expect(await refusal(fixture)).toBe('accepted');
    await expect(fixture.check(requestOf({}, { verification: { enabled: true } }))).rejects.toMatchObject({
      error: 'permissionMissing',
      errorDescription: 'The user of cluster1 lacks changeStream on every database. Grant it.',
    });
  });
});

it('checkStart warns if the source is read through its router because its shards cannot be read', async () => {
  const fixture = fixtureWith({
    source: { access: 'router', directRefusal: 'Shard shard0 of cluster0 cannot be read directly: 13.' },
  });
  const { warnings } = await fixture.check();
  expect(warnings.map(({ name }) => name)).toEqual(['sourceReadThroughRouter']);
  expect(warnings[0]?.description).toMatch(
    /through its router.*shard0 of cluster0 cannot be read directly: 13\. Or set sourceAccess/,
  );
});

describe('checkStart on the users of shards', () => {
  const reading = { resource: { db: '', collection: '' }, actions: ['find', 'changeStream', 'listIndexes'] };
  const noting = { resource: { cluster: true }, actions: ['appendOplogNote'] };
  const byUuid = { resource: { cluster: true }, actions: ['useUUID'] };

  function withShardUser(...authenticatedUserPrivileges: object[]): Fixture {
    const fixture = new Fixture();
    fixture.shardAuthInfo = { authenticatedUsers: [{ user: 'reader', db: 'admin' }], authenticatedUserPrivileges };
    return fixture;
  }

  it('accepts users that may read and write notes', async () => {
    expect((await withShardUser(reading, noting, byUuid).check()).warnings).toEqual([]);
  });

  it('names what is missing, and where', async () => {
    const what = 'useUUID on the cluster, changeStream on every database, listIndexes on every database';
    await expect(withShardUser(noting, { ...reading, actions: ['find'] }).check()).rejects.toMatchObject({
      error: 'permissionMissing',
      errorDescription:
        `The user of shard0 of cluster0 lacks ${what}. ` + `The user of shard1 of cluster0 lacks ${what}. Grant it.`,
    });
  });

  it('warns if they may not append oplog notes, and says what to do', async () => {
    const { warnings } = await withShardUser(reading, byUuid).check();
    expect(warnings.map(({ name }) => name)).toEqual(['oplogNotesNotAllowed']);
    expect(warnings[0]?.description).toMatch(/appendOplogNote on shard0 of cluster0, shard1 of cluster0.*Grant it/);
  });

  const routerUser = {
    authenticatedUsers: [{ user: 'sync', db: 'admin' }],
    authenticatedUserPrivileges: [
      {
        resource: { cluster: true },
        actions: ['inprog', 'listDatabases', 'listShards', 'replSetGetConfig', 'useUUID'],
      },
      {
        resource: { db: '', collection: '' },
        actions: ['find', 'changeStream', 'listCollections', 'listIndexes', 'collStats'],
      },
      { resource: { db: 'config', collection: '' }, actions: ['find'] },
      { resource: { db: 'config', collection: 'settings' }, actions: ['update'] },
    ],
  };

  it.each([
    ['a router from 6.0 on, which supports notes', { version: [6, 0, 0], access: 'router' }, ['oplogNotesNotAllowed']],
    ['an earlier router, which does not', { version: [5, 0, 0], access: 'router' }, []],
    ['a replica set, which is its own shard', replicaSet, ['oplogNotesNotAllowed']],
  ] as const)('asks the one user of %s', async (_what, source, expected) => {
    const fixture = fixtureWith({ source, destination: { version: [6, 0, 0] } });
    fixture.sourceServer.authInfo = routerUser;
    const request = source === replicaSet ? requestOf({ sharding: { shardingEntries: [] } }) : requestOf();
    expect((await fixture.check(request)).warnings.map(({ name }) => name)).toEqual(expected);
  });

  it('of a source whose balancer the user may not stop', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.authInfo = {
      ...routerUser,
      authenticatedUserPrivileges: routerUser.authenticatedUserPrivileges.slice(0, 3),
    };
    await expect(fixture.check()).rejects.toMatchObject({
      errorDescription: 'The user of cluster0 lacks update on config.settings. Grant it.',
    });
  });
});

describe('checkStart on the source catalog', () => {
  it('refuses time series, unless they are left out', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.series', { type: 'timeseries' });
    expect(await refusal(fixture)).toBe('timeSeriesNotSupported');
    expect(
      await refusal(fixture, requestOf({ excludeNamespaces: [{ database: 'app', collections: ['series'] }] })),
    ).toBe('accepted');
  });

  it.each([
    ['geoHaystack', { key: { g: 'geoHaystack', t: 1 }, name: 'hay', bucketSize: 1 }, 'indexNotSupported'],
    ['a compound key with a numeric field name', { key: { a: 1, 1: 1 }, name: 'n' }, 'accepted'],
    ['a single numeric field name', { key: { 1: 1 }, name: 'n' }, 'accepted'],
    ['legacy directions', { key: { a: true, b: '' }, name: 'legacy' }, 'accepted'],
  ])('index: %s', async (_, index, expected) => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c', { indexes: [index] });
    expect(await refusal(fixture)).toBe(expected);
  });

  it('applies the sharding document to the catalog of a replica set', async () => {
    const fixture = fixtureWith({ source: replicaSet });
    fixture.sourceServer.add('app.c', { indexes: [{ v: 2, key: { k: 1 }, name: 'k_1' }] });
    const sharding = {
      shardingEntries: [{ database: 'app', collection: 'c', shardCollection: { key: [{ k: 1 as const }] } }],
    };
    const result = await fixture.check(requestOf({ sharding }));
    expect(result.sourceCatalog[0]?.sharding?.key).toEqual(keyPattern({ k: 1 }));
    expect(result.plan.collections[0]?.sharding?.key).toEqual(keyPattern({ k: 1 }));
    const missing = {
      shardingEntries: [{ database: 'app', collection: 'c', shardCollection: { key: [{ x: 1 as const }] } }],
    };
    expect(await refusal(fixture, requestOf({ sharding: missing }))).toBe('shardingKeyIndexMissing');
    expect(await refusal(fixture, requestOf({ sharding: { ...missing, createSupportingIndexes: true } }))).toBe(
      'accepted',
    );
  });
});

describe('checkStart on the destination', () => {
  it('refuses documents in included namespaces only', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c');
    fixture.destinationServer.add('other.c', { documents: [{ _id: 1 }] });
    expect(await refusal(fixture)).toBe('destinationNotEmpty');
    expect(await refusal(fixture, requestOf({ includeNamespaces: [{ database: 'app' }] }))).toBe('accepted');
  });

  it("accepts empty collections that equal the source's, refuses different ones", async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c', { options: { capped: true, size: 4096 } });
    fixture.destinationServer.add('app.c', { options: { capped: true, size: 4096 } });
    expect(await refusal(fixture)).toBe('accepted');
    fixture.destinationServer.add('app.c', { options: {} });
    expect(await refusal(fixture)).toBe('destinationNotEmpty');
  });

  it('refuses an empty collection or view that has the name of a time series', async () => {
    const fixture = fixtureWith({ source: { version: [8, 0, 0] }, destination: { version: [8, 0, 0] } });
    const options = { timeseries: { timeField: 'at' } };
    fixture.sourceServer.add('app.system.buckets.s', { options });
    fixture.sourceServer.add('app.s', { type: 'timeseries', options });
    const { destinationServer } = fixture;
    destinationServer.add('app.other');
    expect(await refusal(fixture)).toBe('accepted');
    for (const type of ['collection', 'view']) {
      destinationServer.add('app.s', { type, options: type === 'view' ? { viewOn: 'c', pipeline: [] } : {} });
      await expect(fixture.check()).rejects.toMatchObject({
        error: 'destinationNotEmpty',
        errorDescription: expect.stringContaining("differ from the source's: app.s. Drop them") as unknown,
      });
    }
    destinationServer.add('app.system.buckets.s', { options });
    destinationServer.add('app.s', { type: 'timeseries', options });
    expect(await refusal(fixture)).toBe('accepted');
    destinationServer.add('app.system.buckets.s', { options: { timeseries: { timeField: 'other' } } });
    await expect(fixture.check()).rejects.toMatchObject({
      errorDescription: expect.stringContaining("differ from the source's: app.s. Drop them") as unknown,
    });
  });

  it('refuses a database that differs only in case', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c');
    fixture.destinationServer.add('App.c');
    expect(await refusal(fixture)).toBe('destinationNotEmpty');
  });

  it('refuses a view that is not on the source', async () => {
    const fixture = new Fixture();
    fixture.destinationServer.add('app.v', { type: 'view', options: { viewOn: 'c', pipeline: [] } });
    expect(await refusal(fixture)).toBe('destinationNotEmpty');
  });

  it('refuses the metadata of another migration', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c');
    fixture.destinationServer.add('convoy_metadata.migration', { documents: [{ _id: 1 }] });
    fixture.destinationServer.add('app.c', { documents: [{ _id: 1 }] });
    expect(await refusal(fixture)).toBe('migrationExists');
  });

  it('refuses other zone ranges over included namespaces', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c');
    fixture.destinationServer.tags.push({ ns: 'app.c', min: { k: low }, max: { k: high }, tag: 'mine' });
    expect(await refusal(fixture)).toBe('destinationNotEmpty');
    expect(await refusal(fixture, requestOf({ excludeNamespaces: [{ database: 'app' }] }))).toBe('accepted');
    fixture.destinationServer.tags = [{ ns: 'app.c', min: { k: low }, max: { k: high }, tag: 'convoy_a' }];
    expect(await refusal(fixture)).toBe('accepted');
  });

  it('changes nothing on either cluster', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c');
    await fixture.check();
    const names = [...fixture.sourceServer.client.sent, ...fixture.destinationServer.client.sent].map(
      ({ command }) => Object.keys(command)[0],
    );
    expect(new Set(names)).toEqual(
      new Set([
        'balancerStatus',
        'connectionStatus',
        'listDatabases',
        'listCollections',
        'listIndexes',
        'find',
        'getDefaultRWConcern',
        'dataSize',
        'getParameter',
      ]),
    );
  });
});
