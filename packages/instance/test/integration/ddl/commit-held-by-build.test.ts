import { expect, it } from 'vitest';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';
import { HeldSets, names, untilBuilding, warned } from './held-sets.js';

/** Looks at progress, five in a second: for longer than a commit takes without a wait. */
const looksMin = 25;
const indexBuildAborted = 276;
const duplicateKey = 11_000;

/** What keeps the source from building the index, while a commit waits for it. */
const ends: readonly [string, (sets: HeldSets, ended: Promise<unknown>, instance: ServedInstance) => Promise<void>][] =
  [
    [
      'it has failed',
      async (sets, ended) => {
        await sets.hold('cluster0', 'off');
        expect(await ended).toMatchObject({ code: duplicateKey });
      },
    ],
    [
      'it has failed after the primary that began it stepped down',
      async (sets, ended, instance) => {
        await sets.stepDown('cluster0');
        // Whoever sent the command is told that the primary is gone, not how the build ends.
        expect(await ended).toBeInstanceOf(Error);
        await untilBuilding(sets.source, 'a_1');
        await expectHeld(instance);
        await sets.hold('cluster0', 'off');
      },
    ],
    [
      'dropIndexes has ended it',
      async (sets, ended) => {
        await sets.source.db.command({ dropIndexes: 'orders', index: '*' });
        expect(await ended).toMatchObject({ code: indexBuildAborted });
      },
    ],
  ];

it.each(ends)(
  'an index that the source is still building holds a commit that has begun, by its name, until %s',
  async (_how, end) => {
    await using sets = await HeldSets.open();
    const { fixture, destination } = sets;
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 3_600 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    const [ended] = await sets.beginUnique();
    await instance.accepted('commit');
    await instance.until(
      'the commit waits for the build, or is done',
      (one) => warned(one) !== undefined || ['COMMITTED', 'FAILED'].includes(one.state),
    );
    await expectHeld(instance);
    await end(sets, ended, instance);
    await instance.untilState('COMMITTED');
    expect([await names(sets.source, 'finished'), await names(destination, 'finished')]).toEqual([['_id_'], ['_id_']]);
    // Nothing of the index is left there, such as `prepareUnique`.
    await destination.insertOne({ _id: 3, a: 1 });
  },
);

/** The commit waits for the build, which it names, and for nothing that the source's users cannot mend. */
async function expectHeld(instance: ServedInstance): Promise<void> {
  let looks = 0;
  const later = await instance.until('the commit ends, or waits on', ({ state }) => {
    looks += 1;
    return state !== 'COMMITTING' || looks > looksMin;
  });
  expect(later.state).toBe('COMMITTING');
  expect(warned(later)).toMatch(/^The source is still building a_1 of shop\.orders\./);
  expect(later.warnings?.map(({ name }) => name)).not.toContain('commitHeldByDuplicates');
}
