import fc from 'fast-check';
import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture, readsShards, type Shape } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { seriesOf } from './equal-series.js';
import { isFullRun, testSeeds } from '../../../../../test/seed.js';
import { needs } from '../../../../../e2e/requirements.js';
import { RealUser } from '../../../../../e2e/soak/real/real-user.js';
import { placeSeries, seriesOfSensors, wrongAfterMore } from '../../../../../e2e/soak/series.js';
import { runSeriesAction, type SeriesAction, seriesActions } from '../../../../../e2e/soak/series-actions.js';
import { passOver } from '../../../../../e2e/soak/user.js';

const releases = { cluster0: '8.0', cluster1: '8.0' } as const;
const names = ['a', 'b', 'c'] as const;

/** One thing that a user does, or a restart of the instance. */
type Step = SeriesAction | { kind: 'restart' };

/** How a history begins. */
interface Setting {
  from: Shape;
  to: Shape;
  /** Shard key of the series in measurements' terms; null: not sharded. */
  key: Document | null;
  readsShards: boolean;
}

const two = { shards: 2 } as const;
const settings: readonly Setting[] = [
  { from: 'replicaSet', to: 'replicaSet', key: null, readsShards: false },
  { from: two, to: two, key: null, readsShards: false },
  { from: two, to: two, key: { sensor: 1 }, readsShards: true },
  { from: two, to: two, key: { sensor: 1, at: 1 }, readsShards: false },
  { from: two, to: { shards: 1 }, key: { sensor: 1 }, readsShards: false },
  { from: 'replicaSet', to: { shards: 1 }, key: null, readsShards: false },
];

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 17, arbitrary: seriesActions(names, true) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
);
const history = fc.record({
  setting: fc.constantFrom(...settings),
  steps: fc.array(step, { minLength: 25, maxLength: 60 }),
  /** Steps before the migration starts. */
  before: fc.integer({ min: 0, max: 20 }),
  /** What users do at the destination after the commit, and while it is reversed. */
  back: fc.array(seriesActions(names, true), { maxLength: 20 }),
});

/** Both clusters of a migration that is reversed have users, and equal numbers of shards. */
const isReversible = ({ from, to }: Setting): boolean => from === to;

it.each(testSeeds(isFullRun ? 30 : 1))(
  'time series are equal to the byte after random writes, changes and restarts, there and back, seed %i',
  { timeout: 300_000, ...needs({ version: [8, 0] }) },
  async (seed) => {
    const [drawn] = fc.sample(history, { seed, numRuns: 1 });
    if (drawn === undefined) throw new Error('no history');
    const { setting, steps, before, back } = drawn;
    const flags = setting.readsShards ? readsShards : {};
    const reversible = isReversible(setting) && back.length > 0;
    const withUsers = setting.readsShards || reversible;
    await using fixture = await Fixture.open(setting.from, setting.to, { ...releases, withUsers });
    await using user = new RealUser(fixture.cluster0.client);
    const series = names.map((name) => seriesOfSensors(name, name === 'a' ? setting.key : null));
    for (const each of series) await placeSeries(each, 'plant', user);
    let instance = await fixture.startInstance(flags);
    try {
      const body =
        setting.to !== 'replicaSet' && setting.from === 'replicaSet'
          ? startBody({ sharding: { shardingEntries: [] } })
          : startBody(reversible ? { reversible, enableUserWriteBlocking: true } : {});
      for (const [index, doing] of steps.entries()) {
        if (index === before) await instance.accepted('start', body);
        // What servers refuse, as a granularity that would become finer, is no matter.
        if (doing.kind !== 'restart') await runSeriesAction(doing, series, 'plant', user).catch(passOver);
        else if (index > before) {
          await instance.close();
          instance = await fixture.startInstance(flags);
        }
      }
      await instance.commitWhenOffered();
      const source = fixture.cluster0.client.db('plant');
      const destination = fixture.cluster1.client.db('plant');
      expect(await seriesOf(destination)).toEqual(await seriesOf(source));
      await using there = new RealUser(fixture.cluster1.client);
      expect(await wrongAfterMore('plant', there)).toEqual([]);
      if (!reversible) return;
      for (const [index, doing] of back.entries()) {
        if (index === Math.floor(back.length / 2)) await instance.accepted('reverse');
        await runSeriesAction(doing, series, 'plant', there).catch(passOver);
      }
      await instance.commitWhenOffered();
      expect(await seriesOf(source)).toEqual(await seriesOf(destination));
      expect(await wrongAfterMore('plant', user)).toEqual([]);
    } finally {
      await instance.close();
    }
  },
);
