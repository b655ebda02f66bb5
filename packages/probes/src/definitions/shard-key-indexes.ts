import { expectDone, expectRefused } from '../framework/expectation.js';
import type { Fixture } from '../framework/fixture.js';
import type { Probe } from '../framework/probe.js';

/** A collection whose shard key has two indexes. @returns its name and theirs */
async function twiceSupported(fixture: Fixture): Promise<[collection: string, exact: string, longer: string]> {
  const name = fixture.newName();
  await fixture.adminDone({ shardCollection: `${fixture.db}.${name}`, key: { k: 1 } });
  await fixture.index(name, { key: { k: 1, v: 1 }, name: 'longer' });
  return [name, 'k_1', 'longer'];
}

/** What servers refuse for the sake of a shard key. */
export const shardKeyIndexes: readonly Probe[] = [
  {
    name: 'last-key-index-is-not-dropped',
    sentence:
      'One of several indexes for a ranged shard key can be dropped; the last one is refused with ' +
      'CannotDropShardKeyIndex (370).',
    topology: 'sharded',
    from: [6, 0, 0],
    source: 'SERVER-6491; seen on 8.0.10',
    otherwise: 'A change of the only index of a shard key may end the migration.',
    async run(fixture) {
      const [name, exact, longer] = await twiceSupported(fixture);
      expectDone('the first drop', await fixture.ask({ dropIndexes: name, index: exact }));
      expectRefused('the second drop', await fixture.ask({ dropIndexes: name, index: longer }), 370);
    },
  },
  {
    name: 'last-key-index-is-not-hidden',
    sentence:
      'One of several indexes for a ranged shard key can be hidden; hiding the last one is refused with ' +
      'InvalidOptions (72).',
    topology: 'sharded',
    from: [8, 0, 0],
    source: 'server sources: coll_mod',
    otherwise: 'A hidden index may stay visible on the destination without need.',
    async run(fixture) {
      const [name, exact, longer] = await twiceSupported(fixture);
      const hide = (index: string) => fixture.ask({ collMod: name, index: { name: index, hidden: true } });
      expectDone('hiding the first', await hide(exact));
      expectRefused('hiding the second', await hide(longer), 72);
    },
  },
];
