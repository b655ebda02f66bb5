import type { StartRequestBody } from '@convoy/api/contract/start-request';
import { BSON } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { type CheckName, checkNames, type PreflightItem } from '../../../src/preflight/examination.js';
import { requestOf, Fixture } from './fixture.js';

/** What prevents a migration, or is worth knowing, and its finding. */
interface Finding {
  what: string;
  check: CheckName;
  result: PreflightItem['result'];
  /** Name of the refusal; for warnings, the name in progress. */
  name: string;
  prepare: (fixture: Fixture) => void;
  request?: Partial<StartRequestBody>;
  /** The namespace, index or privilege concerned, and what to do. */
  says: RegExp;
}

const chunks = [
  { min: { k: new BSON.MinKey() }, max: { k: 0 }, shard: 'shard0' },
  { min: { k: 0 }, max: { k: new BSON.MaxKey() }, shard: 'shard1' },
];
const byKey = { v: 2, key: { k: 1 }, name: 'k_1' };
const replicaSet = { kind: 'replicaSet', shardIds: ['rs'] } as const;

function shardedBy(key: 1 | 'hashed', collection = 'c'): Partial<StartRequestBody> {
  return { sharding: { shardingEntries: [{ database: 'app', collection, shardCollection: { key: [{ k: key }] } }] } };
}

const findings: Finding[] = [
  {
    what: 'the same cluster twice',
    check: 'clusters',
    result: 'failed',
    name: 'sourceEqualsDestination',
    prepare: (fixture) => void (fixture.destination = { clusterId: '0a' }),
    says: /Configure two different/,
  },
  {
    what: "a destination that was restored from the source's files",
    check: 'clusters',
    result: 'failed',
    name: 'sourceEqualsDestination',
    prepare: (fixture) => void (fixture.destination = { clusterId: '0a', shardIds: ['c', 'd'] }),
    says: /have one cluster id, though other names\..*if one was restored from a copy of the other's files, give it/,
  },
  {
    what: 'a source that is too old',
    check: 'clusters',
    result: 'failed',
    name: 'unsupportedServerVersion',
    prepare: (fixture) => void (fixture.source = { version: [4, 2, 0] }),
    says: /4\.2\. Convoy needs 4\.4 or later; upgrade it/,
  },
  {
    what: 'a destination that is older than the source',
    check: 'clusters',
    result: 'failed',
    name: 'unsupportedServerVersion',
    prepare: (fixture) => void (fixture.source = { version: [7, 0, 0] }),
    says: /older than the source's.*Upgrade it/,
  },
  {
    what: 'reversible from a sharded source to a replica set',
    check: 'options',
    result: 'failed',
    name: 'reversibleUnsupportedTopology',
    prepare: (fixture) => {
      fixture.source = { version: [6, 0, 0] };
      fixture.destination = { ...replicaSet, version: [6, 0, 0] };
    },
    request: { reversible: true, enableUserWriteBlocking: true },
    says: /Leave out reversible/,
  },
  {
    what: 'write blocking on a source without it',
    check: 'options',
    result: 'failed',
    name: 'writeBlockingNeedsSource60',
    prepare: () => undefined,
    request: { enableUserWriteBlocking: true },
    says: /6\.0/,
  },
  {
    what: 'a TTL index without indexes on the destination',
    check: 'verification',
    result: 'failed',
    name: 'ttlCollectionWithVerification',
    prepare: (fixture) =>
      void fixture.sourceServer.add('app.sessions', {
        indexes: [{ v: 2, key: { at: 1 }, name: 'at_1', expireAfterSeconds: 60 }],
      }),
    request: { buildIndexes: 'never', verification: { enabled: true } },
    says: /app\.sessions.*verification\.enabled false/,
  },
  {
    what: 'a pattern that cannot be compiled',
    check: 'filter',
    result: 'failed',
    name: 'filterPatternInvalid',
    prepare: () => undefined,
    request: { includeNamespaces: [{ databaseRegex: { pattern: '(?=a)' } }] },
    says: /remove back-references and look-around/,
  },
  {
    what: 'an upgrade under way',
    check: 'featureCompatibilityVersion',
    result: 'failed',
    name: 'unsupportedServerVersion',
    prepare: (fixture) => void (fixture.sourceServer.featureVersion = { version: '5.0', targetVersion: '6.0' }),
    says: /Finish the upgrade or downgrade/,
  },
  {
    what: 'a missing privilege',
    check: 'privileges',
    result: 'failed',
    name: 'permissionMissing',
    prepare: (fixture) =>
      void (fixture.sourceServer.authInfo = {
        authenticatedUsers: [{ user: 'sync', db: 'admin' }],
        authenticatedUserPrivileges: [],
      }),
    says: /find on every database.*Grant it/,
  },
  {
    what: 'time series',
    check: 'collections',
    result: 'failed',
    name: 'timeSeriesNotSupported',
    prepare: (fixture) => void fixture.sourceServer.add('app.series', { type: 'timeseries' }),
    says: /app\.series.*Exclude them/,
  },
  {
    what: 'indexes that differ between shards',
    check: 'collections',
    result: 'failed',
    name: 'inconsistentIndexes',
    prepare: (fixture) => {
      const { sourceServer } = fixture;
      sourceServer.addSharded('app.c', { k: 1 }, false, chunks, { indexes: [byKey] });
      fixture.shardIndexes.set('shard1', [{ v: 2, key: { _id: 1 }, name: '_id_' }]);
    },
    says: /k_1 of app\.c.*shard1.*Make them equal/,
  },
  {
    what: 'an index that is skipped, as the user chose',
    check: 'collections',
    result: 'warning',
    name: 'indexesChosen',
    request: { indexConflicts: 'skip' },
    prepare: (fixture) => {
      const only = { v: 2, key: { only: 1 }, name: 'only_1' };
      fixture.sourceServer.addSharded('app.c', { k: 1 }, false, chunks, { indexes: [byKey, only] });
      fixture.shardIndexes.set('shard1', [{ v: 2, key: { _id: 1 }, name: '_id_' }, byKey]);
    },
    says: /only_1 of app\.c \(differs on shard1, skipped\)/,
  },
  {
    what: 'an index type that no longer exists',
    check: 'collections',
    result: 'failed',
    name: 'indexNotSupported',
    prepare: (fixture) =>
      void fixture.sourceServer.add('app.c', { indexes: [{ key: { g: 'geoHaystack' }, name: 'hay', bucketSize: 1 }] }),
    says: /hay of app\.c.*Drop them or exclude/,
  },
  {
    what: 'encrypted collections',
    check: 'collections',
    result: 'failed',
    name: 'collectionNotSupported',
    prepare: (fixture) => void fixture.sourceServer.add('app.c', { options: { encryptedFields: { fields: [] } } }),
    says: /app\.c.*Exclude them/,
  },
  {
    what: 'a collection of very many chunks',
    check: 'collections',
    result: 'failed',
    name: 'collectionNotSupported',
    prepare: (fixture) => {
      const many = Array.from({ length: 1_100 }, (_, n) => ({
        min: { k: `${n}`.padStart(8_000, '0') },
        max: { k: `${n + 1}`.padStart(8_000, '0') },
        shard: 'shard0',
      }));
      fixture.sourceServer.addSharded('app.c', { k: 1 }, false, many, { indexes: [byKey] });
    },
    says: /app\.c \(1100 chunks\).*Merge chunks/,
  },
  {
    what: 'a name that is too long for a sharded collection',
    check: 'sharding',
    result: 'failed',
    name: 'shardingEntryInvalid',
    prepare: (fixture) => {
      fixture.source = replicaSet;
      fixture.sourceServer.add(`app.${'ü'.repeat(120)}`, { indexes: [byKey] });
    },
    request: shardedBy(1, 'ü'.repeat(120)),
    says: /244 bytes, but sharded collections may have 235; rename it/,
  },
  {
    what: 'a shard key without an index',
    check: 'sharding',
    result: 'failed',
    name: 'shardingKeyIndexMissing',
    prepare: (fixture) => {
      fixture.source = replicaSet;
      fixture.sourceServer.add('app.c');
    },
    request: shardedBy('hashed'),
    says: /app\.c.*create one there or set createSupportingIndexes/,
  },
  {
    what: 'documents on the destination',
    check: 'destination',
    result: 'failed',
    name: 'destinationNotEmpty',
    prepare: (fixture) => void fixture.destinationServer.add('app.c', { documents: [{ _id: 1 }] }),
    says: /app\.c\. Drop these collections or choose an empty cluster/,
  },
  {
    what: 'a view on the destination',
    check: 'destination',
    result: 'failed',
    name: 'destinationNotEmpty',
    prepare: (fixture) =>
      void fixture.destinationServer.add('app.v', { type: 'view', options: { viewOn: 'c', pipeline: [] } }),
    says: /app\.v\. Drop them/,
  },
  {
    what: 'the metadata of another migration',
    check: 'destination',
    result: 'failed',
    name: 'migrationExists',
    prepare: (fixture) => void fixture.destinationServer.add('convoy_metadata.migration'),
    says: /remove it with convoy cleanup/,
  },
  {
    what: 'zones over planned collections',
    check: 'destination',
    result: 'failed',
    name: 'destinationNotEmpty',
    prepare: (fixture) =>
      void fixture.destinationServer.tags.push({ ns: 'app.c', min: { k: 1 }, max: { k: 2 }, tag: 'mine' }),
    says: /app\.c\. Remove them/,
  },
  {
    what: 'a database that differs in case',
    check: 'destination',
    result: 'failed',
    name: 'destinationNotEmpty',
    prepare: (fixture) => {
      fixture.sourceServer.add('app.c');
      fixture.destinationServer.add('App.c');
    },
    says: /app\. Drop them/,
  },
  {
    what: 'a filter that matches nothing at all',
    check: 'matched',
    result: 'warning',
    name: 'filterMatchesNothing',
    prepare: (fixture) => void fixture.sourceServer.add('app.c'),
    request: { includeNamespaces: [{ database: 'ap' }] },
    says: /Correct the filter/,
  },
  {
    what: 'parts of a filter that match nothing',
    check: 'matched',
    result: 'warning',
    name: 'filterMatchesNothing',
    prepare: (fixture) => void fixture.sourceServer.add('app.c'),
    request: {
      includeNamespaces: [
        { database: 'app', collections: ['c', 'mispelt'] },
        { database: 'app', collectionsRegex: { pattern: '^x', options: 'i' } },
        { databaseRegex: { pattern: 'z' } },
      ],
    },
    says: /app\.mispelt, names like \/\^x\/i of app, databases like \/z\/\. Check their names/,
  },
  {
    what: 'other names that nothing gets',
    check: 'matched',
    result: 'warning',
    name: 'namespaceRemapMatchesNothing',
    prepare: (fixture) => void fixture.sourceServer.add('app.c'),
    request: {
      namespaceRemap: [
        { from: { database: 'app' }, to: { database: 'other' } },
        { from: { database: 'app', collection: 'mispelt' }, to: { database: 'other', collection: 'd' } },
      ],
    },
    says: /names what is not migrated: app\.mispelt\. Check/,
  },
  {
    what: 'two collections that would have one name',
    check: 'collections',
    result: 'failed',
    name: 'namespaceRemapInvalid',
    prepare: ({ sourceServer }) => {
      for (const name of ['app.c', 'other.c']) sourceServer.add(name);
    },
    request: { namespaceRemap: [{ from: { database: 'app' }, to: { database: 'other' } }] },
    says: /would both be other\.c on the destination/,
  },
  {
    what: 'views whose collections the filter excludes',
    check: 'matched',
    result: 'warning',
    name: 'viewSourceLeftOut',
    prepare: ({ sourceServer }) => {
      for (const name of ['app.c', 'app.d', 'app.e']) sourceServer.add(name);
      sourceServer.add('app.v', {
        type: 'view',
        options: { viewOn: 'c', pipeline: [{ $lookup: { from: 'd', pipeline: [{ $unionWith: 'e' }], as: 'd' } }] },
      });
    },
    request: { excludeNamespaces: [{ database: 'app', collections: ['d', 'e'] }] },
    says: /app\.v \(reads app\.d, app\.e\).*Include what they read, or exclude the views/,
  },
  {
    what: 'a destination whose disks may be too small',
    check: 'diskSpace',
    result: 'warning',
    name: 'diskSpaceShort',
    prepare: (fixture) => {
      fixture.sourceServer.add('app.c', { documents: [{ _id: 1 }] });
      fixture.destinationServer.add('other.empty');
      fixture.destinationServer.disk = { totalBytes: 10, usedBytes: 9 };
    },
    says: /add space/,
  },
  {
    what: 'a short oplog',
    check: 'oplogWindow',
    result: 'warning',
    name: 'oplogWindowShort',
    prepare: (fixture) => void (fixture.oplog = { covered_seconds: 60, size: 1, maxSize: 1 }),
    says: /replSetResizeOplog/,
  },
];

describe('preflight finds and says what to do about', () => {
  it.each(findings)('$what', async ({ check, result, name, prepare, request, says }) => {
    const fixture = new Fixture();
    prepare(fixture);
    const { items } = await fixture.report(requestOf(request));
    const found = items.find((item) => item.check === check);
    expect(found).toMatchObject({ result, description: expect.stringMatching(says) as unknown });
    if (result === 'failed') expect(found?.error).toBe(name);
    else expect((await fixture.check(requestOf(request))).warnings.map((warning) => warning.name)).toContain(name);
  });

  it('equal _ids, which only the copy can find', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.addSharded('app.c', { k: 1 }, false, chunks, { indexes: [byKey] });
    const { items } = await fixture.report();
    expect(items.find(({ check }) => check === 'equalIds')).toMatchObject({
      result: 'unchecked',
      description: expect.stringMatching(/app\.c.*The copy finds duplicates/) as unknown,
    });
  });

  it('something for every check that can refuse or warn', () => {
    const seen = new Set(findings.map(({ check }) => check));
    expect(checkNames.filter((check) => !seen.has(check))).toEqual([
      'recordedReleases',
      'serverParameters',
      'equalIds',
      'carry',
      'inventory',
      'balancers',
    ]);
  });
});

it('a copy in natural order of nothing is a warning', async () => {
  const { warnings } = await new Fixture().check(requestOf({ copyInNaturalOrder: [{ database: 'app' }] }));
  expect(warnings).toMatchObject([{ name: 'copyInNaturalOrderMatchesNothing' }]);
});

describe('a filter', () => {
  it('gives no warning if it includes views along with what they read', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c');
    fixture.sourceServer.add('app.v', {
      type: 'view',
      options: { viewOn: 'c', pipeline: [{ $unionWith: { coll: 'c', pipeline: [] } }] },
    });
    const { warnings } = await fixture.check(
      requestOf({ includeNamespaces: [{ database: 'app', collections: ['c'], collectionsRegex: { pattern: '^v' } }] }),
    );
    expect(warnings).toEqual([]);
  });

  it('ignores views of collections that are not on the source either, if there is none', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.v', { type: 'view', options: { viewOn: 'gone', pipeline: [] } });
    expect((await fixture.check()).warnings).toEqual([]);
  });
});
