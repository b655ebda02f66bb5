import type { ReleaseSeries } from '@convoy/simulator';
import type { Progress } from '@convoy/api/contract/progress';
import type { Collection, Db } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';

interface Order {
  _id: number;
  a: number;
}

let fixture: Fixture;
let source: Collection<Order>;
let destination: Collection<Order>;

async function open(release?: ReleaseSeries): Promise<void> {
  const releases = release === undefined ? {} : { cluster0: release, cluster1: release };
  fixture = await Fixture.open('replicaSet', 'replicaSet', releases);
  [source, destination] = [fixture.cluster0, fixture.cluster1].map(({ client }) => client.db('shop')).map(orders) as [
    Collection<Order>,
    Collection<Order>,
  ];
  await source.insertMany([
    { _id: 1, a: 1 },
    { _id: 2, a: 1 },
  ]);
}

afterEach(async () => {
  for (const cluster of ['cluster0', 'cluster1'] as const) await hold(cluster, 'off');
  await fixture.close();
});

function orders(database: Db): Collection<Order> {
  return database.collection<Order>('orders');
}

/** Stops index builds before their first document, or continues them. */
async function hold(cluster: 'cluster0' | 'cluster1', mode: 'alwaysOn' | 'off'): Promise<void> {
  const failPoint = { configureFailPoint: 'hangAfterInitializingIndexBuild', mode };
  await fixture[cluster].client.db('admin').command(failPoint);
}

/** The names of a collection's finished indexes, or of those that it builds. */
async function names(of: Collection<Order>, wanted: 'finished' | 'building'): Promise<string[]> {
  const listed = await of.db.command({ listIndexes: of.collectionName, includeBuildUUIDs: true });
  const rows = (listed.cursor as { firstBatch: { name?: string; spec?: { name: string } }[] }).firstBatch;
  return rows.flatMap(({ name, spec }) => (wanted === 'building' ? spec?.name : name) ?? []);
}

async function untilBuilding(of: Collection<Order>, name: string): Promise<void> {
  await expect.poll(() => names(of, 'building')).toContain(name);
}

function warned({ warnings }: Progress): string | undefined {
  return warnings?.find(({ name }) => name === 'buildingIndexes')?.description;
}

/** Waits until the builds are named. No commit is offered then. */
async function untilNamed(instance: ServedInstance): Promise<string | undefined> {
  const progress = await instance.until('the build is named', (one) => warned(one) !== undefined);
  expect(progress).toMatchObject({ canCommit: false });
  return warned(progress);
}

describe('an index that the destination is still building', () => {
  beforeEach(() => open());

  it('keeps a commit from being offered, also once the instance and the primary that began it are gone', async () => {
    {
      await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
      await instance.accepted('start', startBody());
      await instance.untilCanCommit();
      await hold('cluster1', 'alwaysOn');
      await source.createIndex({ a: 1 }, {}, {});
      await untilBuilding(destination, 'a_1');
      expect(await untilNamed(instance)).toMatch(/^The destination is still building a_1 of shop\.orders\./);
    }
    await fixture.cluster1.client
      .db('admin')
      .command({ replSetStepDown: 1, force: true })
      .catch(() => undefined);
    await untilBuilding(destination, 'a_1');
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    const offered = await instance.until(
      'the build is named, or a commit offered',
      (one) => one.canCommit || (one.state === 'RUNNING' && warned(one) !== undefined),
    );
    expect(offered.canCommit).toBe(false);
    expect(await names(destination, 'finished')).toEqual(['_id_']);
    await hold('cluster1', 'off');
    await instance.commitWhenOffered();
    expect(await names(destination, 'finished')).toEqual(['_id_', 'a_1']);
  });

  it('is waited for by a commit that has begun, which names it', async () => {
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await hold('cluster1', 'alwaysOn');
    await source.createIndex({ a: 1 }, {}, {});
    await instance.accepted('commit');
    await untilBuilding(destination, 'a_1');
    const waiting = await instance.until(
      'the commit waits for the build, or is done',
      (one) => warned(one) !== undefined || one.state === 'COMMITTED',
    );
    expect(waiting).toMatchObject({ state: 'COMMITTING', canWrite: false });
    await hold('cluster1', 'off');
    await instance.untilState('COMMITTED');
    expect(await names(destination, 'finished')).toEqual(['_id_', 'a_1']);
  });

  it('is given up where the source has no such index, and is in the way of nothing', async () => {
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await hold('cluster1', 'alwaysOn');
    const given = destination.createIndex({ b: 1 }, {}, {}).catch((error: unknown) => error);
    await untilBuilding(destination, 'b_1');
    await source.db.command({ collMod: 'orders', validator: { a: { $gt: 0 } } });
    expect(await given).toMatchObject({ code: 276 });
    await hold('cluster1', 'off');
    await instance.commitWhenOffered();
    expect(await names(destination, 'finished')).toEqual(['_id_']);
  });
});

describe('an index that the source is still building', () => {
  beforeEach(() => open());

  /** Begins a unique index over documents with the same key: it cannot be finished. */
  async function beginUnique(): Promise<[Promise<unknown>]> {
    await hold('cluster0', 'alwaysOn');
    const ended = source.createIndex({ a: 1 }, { unique: true }, {}).catch((error: unknown) => error);
    await untilBuilding(source, 'a_1');
    return [ended];
  }

  it('is none: a migration begins beside it, and offers a commit once it is dropped', async () => {
    const [ended] = await beginUnique();
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    expect(await untilNamed(instance)).toMatch(
      /^The source is still building a_1 of shop\.orders\. To go on without an index, drop it there\./,
    );
    expect(await names(destination, 'building')).toEqual([]);
    await source.dropIndex('a_1');
    expect(await ended).toMatchObject({ code: 276 });
    await instance.commitWhenOffered();
    expect(await names(destination, 'finished')).toEqual(['_id_']);
  });

  it('keeps a commit from being offered, however rarely the catalogs are compared', async () => {
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 3_600 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    const [ended] = await beginUnique();
    expect(await untilNamed(instance)).toMatch(/^The source is still building a_1 of shop\.orders\./);
    await source.dropIndex('a_1');
    expect(await ended).toMatchObject({ code: 276 });
    await instance.commitWhenOffered();
    expect(await names(destination, 'finished')).toEqual(['_id_']);
  });

  it('holds a commit that has begun by its name, until it has failed', async () => {
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 3_600 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    const [ended] = await beginUnique();
    await instance.accepted('commit');
    const waiting = await instance.until(
      'the commit waits for the build, or is done',
      (one) => warned(one) !== undefined || ['COMMITTED', 'FAILED'].includes(one.state),
    );
    expect(waiting.state).toBe('COMMITTING');
    expect(waiting.warnings?.map(({ name }) => name)).not.toContain('commitHeldByDuplicates');
    await hold('cluster0', 'off');
    expect(await ended).toMatchObject({ code: 11_000 });
    await instance.untilState('COMMITTED');
    expect(await names(destination, 'finished')).toEqual(['_id_']);
    await destination.insertOne({ _id: 3, a: 1 });
  });
});

it('an index that becomes a TTL index becomes one on the destination without another build', async () => {
  await open('8.0');
  await source.createIndex({ a: 1 }, {}, {});
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await hold('cluster1', 'alwaysOn');
  await source.db.command({ collMod: 'orders', index: { name: 'a_1', expireAfterSeconds: 3_600 } });
  const expiry = async (): Promise<unknown> =>
    (await destination.indexes()).find(({ name }) => name === 'a_1')?.expireAfterSeconds;
  await expect.poll(expiry).toBe(2_147_483_647);
  await instance.commitWhenOffered();
  expect(await expiry()).toBe(3_600);
});
