import { expect, it } from 'vitest';
import { ApplyWorkers } from '../../../src/apply/apply-workers.js';
import { idClass } from '../../../src/bson/id-class.js';
import type { RawWrite, WriteOutcome } from '../../../src/cluster/node-client.js';
import { ApplyWatermark } from '../../../src/store/apply-watermark.js';
import { ByteBudget } from '../../../src/store/byte-budget.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import { Condition } from '../../../src/store/condition.js';
import { collectionOf, insertOf, never, settled } from '../model/parts.js';

it('all events of a capped collection go to one lane, in order', async () => {
  const capped = collectionOf({ capped: true, sourceKey: [], destinationKey: [] });
  const sent: RawWrite[] = [];
  const write = (one: RawWrite): Promise<WriteOutcome> => {
    sent.push(one);
    return Promise.resolve({ n: one.statements.length, nModified: 0, upserted: 0, failures: [] });
  };
  const budget = new ByteBudget(1_000_000);
  const applyWorkers = new ApplyWorkers(8, {
    writer: { write } as never,
    findPresent: () => Promise.resolve(null),
    rereads: new RereadSet({ upsert: () => Promise.resolve(), remove: () => Promise.resolve() }, budget),
    budget,
    applyWatermark: new ApplyWatermark(
      100n,
      () => Promise.resolve(),
      () => 0n,
    ),
    progressed: new Condition(),
    onApplied: () => undefined,
  });
  for (let id = 1; id <= 20; id += 1) {
    const event = insertOf(id, BigInt(id));
    applyWorkers.push({
      event,
      collection: capped,
      workerClass: idClass(event.id, false),
      bounds: { watermark: 0n, readEnd: null },
      removes: false,
    });
  }
  void applyWorkers.run(never, never).catch(() => undefined);
  await settled();
  expect(sent.map(({ statements, ordered }) => [statements.length, ordered])).toEqual([[20, true]]);
});
