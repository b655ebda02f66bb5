import { expect, it } from 'vitest';
import { Lanes } from '../../../src/apply/lanes.js';
import { idClass } from '../../../src/bson/id-class.js';
import type { RawWrite, WriteOutcome } from '../../../src/cluster/door.js';
import { Begun } from '../../../src/store/begun.js';
import { ByteBudget } from '../../../src/store/byte-budget.js';
import { RepairSet } from '../../../src/store/repair-set.js';
import { Signalled } from '../../../src/store/signalled.js';
import { collectionOf, insertOf, never, settled } from '../model/parts.js';

it('all events of a capped collection go to one lane, in order', async () => {
  const capped = collectionOf({ capped: true, sourceKey: [], destinationKey: [] });
  const sent: RawWrite[] = [];
  const write = (one: RawWrite): Promise<WriteOutcome> => {
    sent.push(one);
    return Promise.resolve({ n: one.statements.length, nModified: 0, upserted: 0, failures: [] });
  };
  const budget = new ByteBudget(1_000_000);
  const lanes = new Lanes(8, {
    writer: { write } as never,
    findPresent: () => Promise.resolve(null),
    repairs: new RepairSet({ put: () => Promise.resolve(), remove: () => Promise.resolve() }, budget),
    budget,
    begun: new Begun(100n, () => Promise.resolve(), () => 0n),
    progressed: new Signalled(),
    onApplied: () => undefined,
  });
  for (let id = 1; id <= 20; id += 1) {
    const event = insertOf(id, BigInt(id));
    lanes.push({ event, collection: capped, laneClass: idClass(event.id, false), bounds: { begunBefore: 0n, readEnd: null }, removes: false });
  }
  void lanes.run(never, never).catch(() => undefined);
  await settled();
  expect(sent.map(({ statements, ordered }) => [statements.length, ordered])).toEqual([[20, true]]);
});
