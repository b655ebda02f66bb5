import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Releases, Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';
import { makeCollections, shapeChanges, structureChanges } from './ddl-changes.js';
import { isFullRun, sampled } from '../../../../../test/seed.js';

let fixture: Fixture;

/** A name, releases, an access, and the phase of usual runs. */
type Variant = [string, Releases, string, string];

const direct5: Variant = ['5.0, directly from the shards', { cluster0: '5.0', cluster1: '5.0' }, 'direct', 'copy'];
const router5: Variant = ['5.0, through the router', { cluster0: '5.0', cluster1: '5.0' }, 'router', 'apply'];
const direct: Variant = ['the default release, directly from the shards', {}, 'direct', 'apply'];
const router: Variant = ['the default release, through the router', {}, 'router', 'copy'];
/**
 * Each release, access and phase occurs with each of the others; with CONVOY_TEST_FULL=1 in both phases. A usual run
 * has one access, with each release in one phase.
 */
const variants = sampled([
  [direct5, direct],
  [router5, router],
]).flat();
const both = ['copy', 'apply'];

describe.each(variants)('DDL changes on %s', (_name, versions, sourceAccess, phase) => {
  beforeEach(async () => {
    fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, versions);
    await makeCollections(fixture.cluster0.client);
  });

  afterEach(() => fixture.close());

  it.each(isFullRun ? both : [phase])(
    'are applied during the %s, under writes',
    { timeout: 300_000 },
    async (phase) => {
      const client = fixture.cluster0.client;
      const shop = client.db('shop');
      await using instance = await fixture.startInstance({
        sourceAccess,
        catalogInterval_seconds: 1,
        ...(phase === 'copy' ? { loadRateBytesPerSecond: '128KB' } : {}),
      });
      await instance.accepted('start', startBody());
      await (phase === 'copy' ? instance.untilState('RUNNING') : instance.untilCanCommit());
      let written = 0;
      for (const change of [...structureChanges, ...shapeChanges]) {
        for (const name of ['p7', 's5', 's4', 'p3', 'p3 renamed']) {
          await shop
            .collection<{ _id: number }>(name)
            .updateOne({ _id: (written * 13) % 300 }, { $set: { changed: written } });
          written += 1;
        }
        await change.run(shop, client);
      }
      await shop.collection<{ _id: number; n: number }>('p7').insertOne({ _id: 100_000, n: 7 });
      await instance.commitWhenOffered();
      await expectEqualDatabases(fixture, 'shop');
      expect(await fixture.cluster1.databases()).not.toContain('gone');
    },
  );
});
