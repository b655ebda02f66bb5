import { BSON } from 'mongodb';
import { expect, it } from 'vitest';
import { ApplyWorkers } from '../../../src/apply/apply-workers.js';
import { idClass } from '../../../src/bson/id.js';
import type { RawWrite, WriteOutcome } from '../../../src/cluster/node-client.js';
import { ApplyWatermark } from '../../../src/store/task-record.js';
import { ByteBudget, Condition } from '../../../src/async/waiting.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import { collectionOf, insertOf, never, settled } from '../model/parts.js';

it('one worker applies all events of a capped collection, in their order', async () => {
  const capped = collectionOf({ capped: true, sourceKey: [], destinationKey: [] });
  const sent: RawWrite[] = [];
  const write = (one: RawWrite): Promise<WriteOutcome> => {
    sent.push(one);
    return Promise.resolve({ n: one.statements.length, nModified: 0, upserted: 0, failures: [] });
  };
  const budget = new ByteBudget(1_000_000);
  const applyWorkers = new ApplyWorkers(8, {
    writer: { write },
    findPresent: () => Promise.resolve(null),
    rereads: new RereadSet({ upsert: () => Promise.resolve(), remove: () => Promise.resolve() }, budget),
    budget,
    applyWatermark: new ApplyWatermark(
      100n,
      () => Promise.resolve(),
      () => 0n,
    ),
    progressed: new Condition(),
    clock: { monotonic_ms: () => 0 },
    onApplied: () => undefined,
  });
  // 7 and 20 have no common factor: every _id once, in an order that is not theirs.
  const ids = Array.from({ length: 20 }, (_, index) => (index * 7) % 20);
  for (const [index, id] of ids.entries()) {
    const event = insertOf(id, BigInt(index + 1));
    applyWorkers.push({
      event,
      collection: capped,
      workerClass: idClass(event.id, false),
      bounds: { watermark: 0n, readEnd: null },
      purpose: 'apply',
    });
  }
  void applyWorkers.run(never, never).catch(() => undefined);
  await settled();
  expect(sent.every(({ ordered }) => ordered)).toBe(true);
  const inserted = sent.flatMap(({ statements }) => statements.map((bytes) => BSON.deserialize(bytes)._id as number));
  expect(inserted).toEqual(ids);
});
