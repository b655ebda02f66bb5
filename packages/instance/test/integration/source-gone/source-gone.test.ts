import { cleanUp } from '@convoy/instance/lifecycle/instance/clean-up';
import { unblock } from '@convoy/instance/lifecycle/instance/unblock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { atStep } from '../at-step.js';
import { Fixture } from '../contract/fixture.js';
import { blockingReleases } from '../contract/releases.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';
import { patience_ms } from '../../../../../test/patience.js';
import { isFullRun } from '../../../../../test/seed.js';
import { Link } from './link.js';

const blocking = startBody({ enableUserWriteBlocking: true });
const reversible = startBody({ enableUserWriteBlocking: true, reversible: true });
/** A usual run has a frozen link where the process restarts in the commit. */
const absences = isFullRun ? (['cut', 'freeze'] as const) : (['cut'] as const);

let fixture: Fixture;
/** All that the instances know of the source: they read it through its router. */
let link: Link;

beforeEach(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, blockingReleases);
  link = await Link.open(fixture.cluster0.connectionString);
  await fixture.cluster0.client
    .db('shop')
    .collection<{ _id: number }>('orders')
    .insertMany([{ _id: 1 }, { _id: 2 }]);
});

afterEach(async () => {
  await link[Symbol.asyncDispose]();
  await fixture.close();
});

const flags = () => ({ cluster0: link.connectionString, sourceAccess: 'router' });
const start = (): Promise<ServedInstance> => fixture.startInstance(flags());
const ordersOf = (side: 'cluster0' | 'cluster1') =>
  fixture[side].shopper.db('shop').collection<{ _id: number }>('orders');

/** Starts an instance that cannot reach the source, and waits until it shows the migration. */
async function startWithout(state: string): Promise<ServedInstance> {
  const instance = await fixture.launchInstance(flags());
  await expect
    .poll(async () => (await instance.progress()).state, { timeout: patience_ms(), interval: 20 })
    .toBe(state);
  return instance;
}

/** Lifts a block of the destination, which then takes writes, and removes the metadata: both without the source. */
async function expectCleanedUp(): Promise<void> {
  await fixture.cluster1.client.db('admin').command({ setUserWriteBlockMode: 1, global: true });
  const config = parseInstanceConfig({
    flags: { cluster0: link.connectionString, cluster1: fixture.cluster1.connectionString },
  });
  const signal = AbortSignal.timeout(Math.floor(patience_ms()));
  await unblock(config, 'cluster1', signal);
  await ordersOf('cluster1').insertOne({ _id: 4 });
  expect(await cleanUp(config, 'cluster1', () => Promise.resolve(true), signal)).toBe(true);
  expect(await fixture.cluster1.databases()).not.toContain('convoy_metadata');
}

describe('a committed migration whose source is away', () => {
  it.each(absences)(
    'refuses a reverse, is shown as before after a restart, and is reversed once the source is back (%s)',
    async (how) => {
      await using before = await start();
      await before.migrate(reversible);
      link.cut();
      expect((await before.command('reverse')).body.error).toBe('sourceUnavailable');
      await link.restore();
      const { collectionCopy, totalEventsApplied, directionMapping, verification, warnings } = await before.progress();
      await before.close();
      link[how]();
      await using instance = await startWithout('COMMITTED');
      await expect
        .poll(() => instance.progress())
        .toMatchObject({
          canWrite: true,
          collectionCopy,
          totalEventsApplied,
          directionMapping,
          verification,
          warnings,
        });
      await instance.untilReady();
      const { status, body } = await instance.command('reverse');
      expect({ status, error: body.error as unknown }).toEqual({ status: 503, error: 'sourceUnavailable' });
      expect(body.errorDescription).toMatch(/^cluster0 cannot be reached/);
      expect(await instance.progress()).toMatchObject({ state: 'COMMITTED', canWrite: true });
      await ordersOf('cluster1').insertOne({ _id: 3 });
      await link.restore();
      await instance.accepted('reverse');
      await instance.untilCanCommit();
      await instance.accepted('commit');
      await instance.untilState('COMMITTED');
      expect(await ordersOf('cluster0').distinct('_id')).toEqual([1, 2, 3]);
    },
  );

  it.runIf(isFullRun)('accepts a reverse in the process that refused it, once the source is back', async () => {
    await using instance = await start();
    await instance.migrate(reversible);
    link.cut();
    expect((await instance.command('reverse')).body.error).toBe('sourceUnavailable');
    await link.restore();
    await instance.accepted('reverse');
    await instance.untilCanCommit();
  });
});

describe('a source that disappears when the opening is decided', () => {
  it('keeps the destination closed for seconds at most, reports what was left, and is needed no more', async () => {
    await using instance = await start();
    await instance.accepted('start', blocking);
    await instance.untilCanCommit();
    void atStep('openingDecided', () => link.cut());
    await instance.accepted('commit');
    const { warnings } = await instance.until('it is open', ({ canWrite }) => canWrite === true);
    expect(warnings?.map(({ name }) => name)).toContain('sourceNotClosedAgain');
    await ordersOf('cluster1').insertOne({ _id: 3 });
    await instance.untilState('COMMITTED');
    expect((await instance.progress()).warnings?.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['sourceNotClosedAgain', 'sourceBalancerLeftOff']),
    );
    expect((await fixture.cluster1.contents()).balancer).toBe('full');
    await instance.close();
    await expectCleanedUp();
  });

  it('is asked by a process that restarts then, and shows its inventory after another restart', async () => {
    await using before = await start();
    await before.accepted('start', blocking);
    await before.untilCanCommit();
    const endings: Promise<void>[] = [];
    void atStep('openingDecided', () => endings.push(before.close()));
    await before.accepted('commit');
    await expect.poll(() => endings.length, { interval: 20 }).toBe(1);
    await Promise.all(endings);
    const opening = await start();
    await opening.untilState('COMMITTED');
    const names = (await opening.progress()).warnings?.map(({ name }) => name);
    expect(names).not.toContain('sourceNotClosedAgain');
    await opening.close();
    await using instance = await start();
    await instance.untilState('COMMITTED');
    const { status, body } = await instance.request('GET', '/api/v1/inventory');
    expect({ status, body }).toMatchObject({ status: 200, body: { inventory: { source: 'cluster0' } } });
  });

  it('is not needed by a process that restarts then, either', async () => {
    await fixture.cluster0.client.db('admin').command({ balancerStop: 1 });
    await using before = await start();
    await before.accepted('start', blocking);
    await before.untilCanCommit();
    const endings: Promise<void>[] = [];
    void atStep('openingDecided', () => {
      link.freeze();
      endings.push(before.close());
    });
    await before.accepted('commit');
    await expect.poll(() => endings.length, { interval: 20 }).toBe(1);
    await Promise.all(endings);
    await using instance = await startWithout('COMMITTING');
    await instance.untilState('COMMITTED');
    await ordersOf('cluster1').insertOne({ _id: 3 });
    const warned = await instance.until(
      'nothing is retried any more',
      ({ warnings }) => warnings?.every(({ name }) => name !== 'retrying') ?? false,
    );
    // The leader looks once a minute for what is left behind, such as a balancer that is off on one side alone.
    const names = warned.warnings?.map(({ name }) => name).filter((name) => name !== 'leftBehind');
    expect(names).toEqual(['sourceNotClosedAgain']);
  });
});
