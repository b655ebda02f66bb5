import type { Collection } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { HeldSets, names, type Order, untilBuilding, untilNamed, warned } from './held-sets.js';

let sets: HeldSets;
let fixture: Fixture;
let source: Collection<Order>;
let destination: Collection<Order>;

async function open(...release: Parameters<typeof HeldSets.open>): Promise<void> {
  sets = await HeldSets.open(...release);
  ({ fixture, source, destination } = sets);
}

afterEach(() => sets[Symbol.asyncDispose]());

describe('an index that the destination is still building', () => {
  beforeEach(() => open());

  it('keeps a commit from being offered, also once the instance and the primary that began it are gone', async () => {
    {
      await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
      await instance.accepted('start', startBody());
      await instance.untilCanCommit();
      await sets.hold('cluster1', 'alwaysOn');
      await source.createIndex({ a: 1 }, {}, {});
      await untilBuilding(destination, 'a_1');
      expect(await untilNamed(instance)).toMatch(/^The destination is still building a_1 of shop\.orders\./);
    }
    await sets.stepDown('cluster1');
    await untilBuilding(destination, 'a_1');
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    const offered = await instance.until(
      'the build is named, or a commit offered',
      (one) => one.canCommit || (one.state === 'RUNNING' && warned(one) !== undefined),
    );
    expect(offered.canCommit).toBe(false);
    expect(await names(destination, 'finished')).toEqual(['_id_']);
    await sets.hold('cluster1', 'off');
    await instance.commitWhenOffered();
    expect(await names(destination, 'finished')).toEqual(['_id_', 'a_1']);
  });

  it('is waited for by a commit that has begun, which names it', async () => {
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await sets.hold('cluster1', 'alwaysOn');
    await source.createIndex({ a: 1 }, {}, {});
    await instance.accepted('commit');
    await untilBuilding(destination, 'a_1');
    const waiting = await instance.until(
      'the commit waits for the build, or is done',
      (one) => warned(one) !== undefined || one.state === 'COMMITTED',
    );
    expect(waiting).toMatchObject({ state: 'COMMITTING', canWrite: false });
    await sets.hold('cluster1', 'off');
    await instance.untilState('COMMITTED');
    expect(await names(destination, 'finished')).toEqual(['_id_', 'a_1']);
  });

  it('is given up where the source has no such index, and is in the way of nothing', async () => {
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await sets.hold('cluster1', 'alwaysOn');
    const given = destination.createIndex({ b: 1 }, {}, {}).catch((error: unknown) => error);
    await untilBuilding(destination, 'b_1');
    await source.db.command({ collMod: 'orders', validator: { a: { $gt: 0 } } });
    expect(await given).toMatchObject({ code: 276 });
    await sets.hold('cluster1', 'off');
    await instance.commitWhenOffered();
    expect(await names(destination, 'finished')).toEqual(['_id_']);
  });
});

describe('an index that the source is still building', () => {
  beforeEach(() => open());

  it('is none: a migration begins beside it, and offers a commit once it is dropped', async () => {
    const [ended] = await sets.beginUnique();
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
    const [ended] = await sets.beginUnique();
    expect(await untilNamed(instance)).toMatch(/^The source is still building a_1 of shop\.orders\./);
    await source.dropIndex('a_1');
    expect(await ended).toMatchObject({ code: 276 });
    await instance.commitWhenOffered();
    expect(await names(destination, 'finished')).toEqual(['_id_']);
  });
});

it('an index that becomes a TTL index becomes one on the destination without another build', async () => {
  await open('8.0');
  await source.createIndex({ a: 1 }, {}, {});
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await sets.hold('cluster1', 'alwaysOn');
  await source.db.command({ collMod: 'orders', index: { name: 'a_1', expireAfterSeconds: 3_600 } });
  const expiry = async (): Promise<unknown> =>
    (await destination.indexes()).find(({ name }) => name === 'a_1')?.expireAfterSeconds;
  await expect.poll(expiry).toBe(2_147_483_647);
  await instance.commitWhenOffered();
  expect(await expiry()).toBe(3_600);
});
