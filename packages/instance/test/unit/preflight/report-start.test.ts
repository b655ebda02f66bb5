import { describe, expect, it } from 'vitest';
import { type CheckName, checkNames, type PreflightItem } from '../../../src/preflight/examination.js';
import { fakeCluster, FakeNodeClient, serverError } from '../fake-node-client.js';
import { requestOf, Fixture } from './fixture.js';

async function item(fixture: Fixture, check: CheckName, request = requestOf()): Promise<PreflightItem> {
  const { items } = await fixture.report(request);
  const found = items.find((one) => one.check === check);
  if (found === undefined) throw new Error(`the report has no ${check}`);
  return found;
}

const root = { resource: { anyResource: true }, actions: ['anyAction'] };

/** A sharded collection whose indexes the shards refuse to list. */
function refuseShardIndexes(fixture: Fixture, code = 13): void {
  fixture.sourceServer.addSharded('app.c', { _id: 1 }, false, [{ min: {}, max: {}, shard: 'shard0' }], {});
  fixture.refusedIndexes = serverError(code, 'Refused');
}

describe('the preflight report', () => {
  it('has every check once, in order, and passes if nothing is wrong', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c');
    fixture.destinationServer.add('other.c');
    const { canStart, items } = await fixture.report(requestOf({ includeNamespaces: [{ database: 'app' }] }));
    expect(items.map(({ check }) => check)).toEqual([...checkNames]);
    expect(items.filter(({ result }) => result !== 'passed')).toEqual([]);
    expect(canStart).toBe(true);
  });

  it('continues after a refusal and names each', async () => {
    const fixture = new Fixture();
    fixture.source = { version: [7, 0, 0] };
    fixture.sourceServer.add('app.c');
    fixture.destinationServer.add('app.c', { documents: [{ _id: 1 }] });
    const { canStart, items } = await fixture.report(requestOf({}, { verification: { enabled: true } }), {
      memoryBytesMax: 2 ** 26,
    });
    expect(canStart).toBe(false);
    expect(items.flatMap(({ check, error }) => (error === null ? [] : [`${check}: ${error}`]))).toEqual([
      'clusters: unsupportedServerVersion',
      'featureCompatibilityVersion: unsupportedServerVersion',
      'verification: verificationMemoryInsufficient',
      'destination: destinationNotEmpty',
    ]);
  });

  it('goes on after a missing privilege that also keeps it from reading the catalog', async () => {
    const fixture = new Fixture();
    fixture.source = { version: [8, 0, 0] };
    fixture.destination = { version: [8, 0, 0] };
    fixture.shardAuthInfo = {
      authenticatedUsers: [{ user: 'reader', db: 'admin' }],
      authenticatedUserPrivileges: [
        { resource: { cluster: true }, actions: ['useUUID', 'appendOplogNote'] },
        { resource: { db: '', collection: '' }, actions: ['find', 'changeStream', 'listIndexes'] },
      ],
    };
    refuseShardIndexes(fixture);
    const { canStart, items } = await fixture.report();
    expect(canStart).toBe(false);
    expect(items.map(({ check }) => check)).toEqual([...checkNames]);
    expect(items.filter(({ result }) => result === 'failed')).toMatchObject([
      { check: 'privileges', description: expect.stringContaining('issueDirectShardOperations') as unknown },
      { check: 'collections', error: 'permissionMissing' },
    ]);
    expect(items.filter(({ description }) => description.includes('a failed check above')).length).toBe(6);
  });

  it('reports a privilege that no check knows as a finding, and goes on', async () => {
    const fixture = new Fixture();
    refuseShardIndexes(fixture);
    const { items } = await fixture.report();
    expect(items.map(({ check }) => check)).toEqual([...checkNames]);
    expect(items.filter(({ result }) => result === 'failed')).toMatchObject([
      { check: 'collections', error: 'permissionMissing' },
    ]);
    await expect(fixture.check()).rejects.toMatchObject({ error: 'permissionMissing' });
  });

  it('throws any other failure of a server', async () => {
    const fixture = new Fixture();
    refuseShardIndexes(fixture, 8);
    await expect(fixture.report()).rejects.toMatchObject({ code: 8 });
  });

  it.each([
    ['sharded', { kind: 'sharded', access: 'direct' }, ['privileges']],
    ['read through its router', { kind: 'sharded', access: 'router' }, []],
    ['a replica set', { kind: 'replicaSet', access: 'direct' }, []],
  ] as const)(
    'of a reversible migration checks the users of the shards of the destination if it is %s',
    async (_, how, expected) => {
      const fixture = new Fixture();
      fixture.source = fixture.destination = { version: [6, 0, 0] };
      const all = { authenticatedUsers: [{ user: 'u', db: 'admin' }], authenticatedUserPrivileges: [root] };
      fixture.sourceServer.authInfo = fixture.destinationServer.authInfo = all;
      let closed = 0;
      const authInfo = { authenticatedUsers: [{ user: 'u', db: 'admin' }], authenticatedUserPrivileges: [] };
      const shard = new FakeNodeClient('a', { connectionStatus: () => ({ authInfo }) });
      const next = fakeCluster({
        name: 'cluster1',
        router: shard,
        shards: new Map([['a', shard]]),
        shardIds: ['a'],
        ...how,
      });
      const openNextSource = () => Promise.resolve({ ...next, close: () => Promise.resolve(void (closed += 1)) });
      const reversible = requestOf({}, { reversible: true, enableUserWriteBlocking: true });
      const { items } = await fixture.report(reversible, { openNextSource });
      expect(items.flatMap(({ check, result }) => (result === 'failed' ? [check] : []))).toEqual(expected);
      expect(closed).toBe(1);
      closed = 0;
      await fixture.report(requestOf(), { openNextSource });
      expect(closed).toBe(0);
    },
  );

  it('does not check what needs a filter that cannot be compiled', async () => {
    const fixture = new Fixture();
    const request = requestOf({ includeNamespaces: [{ database: 'app', collectionsRegex: { pattern: '(' } }] });
    expect(await item(fixture, 'filter', request)).toMatchObject({ result: 'failed', error: 'filterPatternInvalid' });
    expect(await item(fixture, 'destination', request)).toMatchObject({ result: 'unchecked', error: null });
  });

  it('shows what the filter matches', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c');
    fixture.sourceServer.add('app.v', { type: 'view', options: { viewOn: 'c', pipeline: [] } });
    expect(await item(fixture, 'matched')).toMatchObject({
      result: 'passed',
      description: 'To be migrated: 1 collection and 1 view in 1 database: app.c, app.v.',
    });
    expect(await item(fixture, 'matched', requestOf({ includeNamespaces: [{ database: 'ap' }] }))).toMatchObject({
      result: 'warning',
    });
    const halfRight = requestOf({ includeNamespaces: [{ database: 'app' }, { database: 'ap' }] });
    expect((await item(fixture, 'matched', halfRight)).description).toContain(
      'match nothing on the source that is not excluded: ap.',
    );
  });

  it('counts what it matches, and lists all of it for who wants to see that', async () => {
    const fixture = new Fixture();
    for (let n = 0; n < 120; n += 1) fixture.sourceServer.add(`app.c${String(n).padStart(3, '0')}`);
    const { items } = await fixture.report();
    const { description, names } = items.find(({ check }) => check === 'matched') ?? {};
    expect(description).toContain('120 collections and 0 views in 1 database: app.c000, ');
    expect(description).toMatch(/app\.c004 and 115 more\.$/);
    expect(names).toHaveLength(120);
    expect(names?.at(-1)).toBe('app.c119');
  });

  it('also reports in progress the warnings that a start does not refuse', async () => {
    const fixture = new Fixture();
    fixture.oplog = { covered_seconds: 3600, size: 100, maxSize: 100 };
    expect((await fixture.check()).warnings.map(({ name }) => name)).toEqual(['oplogWindowShort']);
  });
});

describe('recordedReleases', () => {
  it('calls a release untested, lists the probes that try it, and does not refuse the start', async () => {
    const fixture = new Fixture();
    fixture.destination = { version: [7, 0, 16] };
    fixture.sourceServer.add('app.c');
    const { canStart, items } = await fixture.report();
    expect(canStart).toBe(true);
    const found = items.find(({ check }) => check === 'recordedReleases');
    expect(found).toMatchObject({
      result: 'unchecked',
      description: expect.stringMatching(
        /^cluster0 \(5\.0\.7\): tested; cluster1 \(7\.0\.16\): untested\. .*convoy probe .*\(\d+ probes\)\.$/,
      ) as unknown,
    });
    expect(found?.description.length).toBeLessThan(200);
    expect(found?.names).toContain('definitions-are-shown');
    expect(found?.names).not.toContain('definitions-are-not-shown');
  });

  it('calls releases tested and too old, each in one line', async () => {
    const fixture = new Fixture();
    const lineOf = async () => (await item(fixture, 'recordedReleases')).description;
    expect(await lineOf()).toBe('cluster0 (5.0.7): tested; cluster1 (5.0.7): tested.');
    fixture.source = { version: [4, 4, 20] };
    expect(await lineOf()).toBe('cluster0 (4.4.20): too old; cluster1 (5.0.7): tested.');
    expect((await item(fixture, 'clusters')).description).toMatch(/^The source cluster0 is too old: it runs 4\.4/);
  });
});

describe('featureCompatibilityVersion', () => {
  it.each([
    ['a source below 5.0', { version: '4.4' }, { version: '5.0' }, 'failed'],
    ['a destination below the source', { version: '6.0' }, { version: '5.0' }, 'failed'],
    ['a destination above the source', { version: '5.0' }, { version: '6.0' }, 'passed'],
    ['an upgrade under way', { version: '5.0', targetVersion: '6.0' }, { version: '6.0' }, 'failed'],
    ['a document that may not be read', null, { version: '6.0' }, 'unchecked'],
  ] as const)('%s', async (_, source, destination, result) => {
    const fixture = new Fixture();
    fixture.sourceServer.featureVersion = source;
    fixture.destinationServer.featureVersion = destination;
    expect((await item(fixture, 'featureCompatibilityVersion')).result).toBe(result);
  });
});

describe('the oplog window', () => {
  it.each([
    ['long enough', { covered_seconds: 7 * 3600, size: 100, maxSize: 100 }, 'passed', 'shard0 7 hours, shard1 7 hours'],
    ['too short', { covered_seconds: 1800, size: 95, maxSize: 100 }, 'warning', 'shard0 30 minutes'],
    [
      'of an oplog that is not full is its future window',
      { covered_seconds: 5400, size: 15, maxSize: 100 },
      'passed',
      '10 hours',
    ],
    ['of an oplog that will be full soon', { covered_seconds: 5400, size: 50, maxSize: 100 }, 'warning', '3 hours'],
    ['of a young oplog is unknown', { covered_seconds: 20, size: 50, maxSize: 100 }, 'passed', 'too young to estimate'],
    [
      'of a server that does not report its size is the current window',
      { covered_seconds: 1800, size: 5, maxSize: 0 },
      'warning',
      '30 minutes',
    ],
    ['that may not be read', serverError(13, 'Unauthorized'), 'unchecked', 'Unauthorized (13)'],
  ] as const)('%s', async (_, oplog, result, text) => {
    const fixture = new Fixture();
    fixture.oplog = oplog;
    const found = await item(fixture, 'oplogWindow');
    expect(found.result).toBe(result);
    expect(found.description).toContain(text);
  });
});

describe('balancers, disks and equal _ids', () => {
  it('reports that a running balancer will be stopped', async () => {
    const fixture = new Fixture();
    fixture.destinationServer.balancerMode = 'full';
    expect((await item(fixture, 'balancers')).description).toContain('cluster1 (idle)');
  });

  it('names what somebody moves by hand, for which the start waits', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.reshardings.push({ ns: 'app.c', provenance: 'moveCollection' }, { ns: 'app.d' });
    expect(await item(fixture, 'balancers')).toMatchObject({
      result: 'passed',
      description:
        'No balancer is running. Under way on cluster0: moveCollection of app.c, reshardCollection of app.d. ' +
        'The start waits until that has ended.',
    });
  });

  it('names what is resharded beside a balancer that is kept: it ends the migration', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.reshardings.push({ ns: 'app.d' });
    expect((await item(fixture, 'balancers', requestOf({}, { keepBalancer: true }))).description).toBe(
      'No balancer is running. Under way on cluster0: reshardCollection of app.d. ' +
        'A collection that is resharded ends the migration: wait until that has ended.',
    );
  });

  it('warns if the documents may not fit', async () => {
    const fixture = new Fixture();
    fixture.sourceServer.add('app.c', { documents: [{ _id: 1 }] });
    fixture.destinationServer.add('other.c');
    fixture.destinationServer.disk = { totalBytes: 100, usedBytes: 95 };
    expect(await item(fixture, 'diskSpace')).toMatchObject({ result: 'warning' });
  });

  it("does not count the config servers' disk as the shards'", async () => {
    const fixture = new Fixture();
    fixture.destinationServer.add('admin.system.version');
    fixture.destinationServer.disk = { totalBytes: 100, usedBytes: 95 };
    expect(await item(fixture, 'diskSpace')).toMatchObject({ result: 'unchecked' });
  });

  it('cannot know the disks of a destination without databases', async () => {
    expect(await item(new Fixture(), 'diskSpace')).toMatchObject({ result: 'unchecked' });
  });

  it('names collections whose _ids no server compares', async () => {
    const fixture = new Fixture();
    const chunks = [{ min: {}, max: {}, shard: 'shard0' }];
    fixture.sourceServer.addSharded('app.byId', { _id: 'hashed' }, false, chunks, {
      indexes: [{ v: 2, key: { _id: 'hashed' }, name: '_id_hashed' }],
    });
    expect(await item(fixture, 'equalIds')).toMatchObject({ result: 'passed' });
    fixture.sourceServer.addSharded('app.byName', { name: 1 }, false, chunks, {
      indexes: [{ v: 2, key: { name: 1 }, name: 'name_1' }],
    });
    const found = await item(fixture, 'equalIds');
    expect(found.result).toBe('unchecked');
    expect(found.description).toContain('app.byName');
    expect(found.description).not.toContain('app.byId');
    fixture.destination = { kind: 'replicaSet', shardIds: ['rs'] };
    expect((await item(fixture, 'equalIds')).description).toContain('A replica set cannot hold duplicates');
  });
});
