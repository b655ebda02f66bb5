import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { encodeValue, ownedValue } from '../../../../src/bson/scan.js';
import type { Mismatch, Suspect } from '../../../../src/verify/compare/check-again.js';
import type { ComparisonPlan } from '../../../../src/verify/standalone/comparison-plan.js';
import { ComparisonState } from '../../../../src/verify/standalone/comparison-state.js';

const root = mkdtempSync(join(tmpdir(), 'convoy-state-'));
afterAll(() => rmSync(root, { recursive: true }));

let folders = 0;
const newFolder = () => join(root, String((folders += 1)));

const plan: ComparisonPlan = {
  collections: [
    {
      number: 0,
      database: 'db',
      name: 'coll',
      destination: { database: 'db', name: 'coll' },
      sourceUuid: 'a',
      destinationUuid: 'b',
      unordered: false,
      sizeBytes: 1,
      documentCount: 1,
    },
  ],
  partitions: [
    { number: 0, collection: 0, lower: null, upper: encodeValue(5) },
    { number: 1, collection: 0, lower: encodeValue(5), upper: null },
  ],
};
const stats = { sourceDocuments: 10, destinationDocuments: 9, bytes: 100, suspects: 1 };

function suspect(id: number): Suspect {
  return {
    id: ownedValue(encodeValue(id)),
    kind: 'missingOnDestination',
    source: 's',
    destination: '',
    unchangedSince_ms: 1,
    unchangedLooks: 1,
    firstSeen_ms: 1,
    looks: 1,
  };
}

async function suspectIds(state: ComparisonState, generation: number): Promise<number[]> {
  const ids: number[] = [];
  for await (const { suspect: found } of state.suspects(generation, 0))
    ids.push(Buffer.from(found.id.bytes).readInt32LE(0));
  return ids;
}

const origin = (partition: number, attempt: number) => ({ collection: 0, partition, attempt });

test('finished work is not repeated, and suspects of an unfinished attempt do not count', async () => {
  const folder = newFolder();
  {
    await using state = await ComparisonState.open(folder);
    await state.begin('identity', 7, plan);
    const [first, second] = plan.partitions;
    if (first === undefined || second === undefined) throw new Error('the plan has two partitions');
    await state.addSuspects(origin(0, state.nextAttempt()), [suspect(1)]);
    const attempt = state.nextAttempt();
    await state.addSuspects(origin(0, attempt), [suspect(2)]);
    await state.finish(first, attempt, stats);
    const split = state.nextAttempt();
    await state.addSuspects(origin(1, split), [suspect(6)]);
    const rest = await state.split(second, split, stats, encodeValue(8));
    await state.addSuspects(origin(rest.number, split), [suspect(9)]);
  }
  await using state = await ComparisonState.open(folder);
  expect(state).toMatchObject({
    identity: 'identity',
    started_ms: 7,
    runs: 2,
    totals: { sourceDocuments: 20, destinationDocuments: 18, bytes: 200, suspects: 2 },
  });
  expect([...state.pending.values()]).toEqual([{ number: 2, collection: 0, lower: encodeValue(8), upper: null }]);
  expect(await suspectIds(state, 0)).toEqual([2, 6]);
});

test('a generation continues after the last recorded check', async () => {
  const folder = newFolder();
  const offsets: number[] = [];
  {
    await using state = await ComparisonState.open(folder);
    await state.begin('identity', 7, { ...plan, partitions: plan.partitions.slice(0, 1) });
    const attempt = state.nextAttempt();
    await state.addSuspects(origin(0, attempt), [suspect(1), suspect(2), suspect(3)]);
    await state.finish({ number: 0, collection: 0, lower: null, upper: null }, attempt, { ...stats, suspects: 3 });
    await state.nextGeneration();
    const all = [];
    for await (const next of state.suspects(0, 0)) all.push(next);
    offsets.push(...all.map(({ end }) => end));
    const mismatch: Mismatch = {
      kind: 'missingOnDestination',
      id: encodeValue(1),
      paths: [],
      firstSeen_ms: 1,
      lastSeen_ms: 2,
      looks: 2,
    };
    await state.recordLook(offsets[1] ?? 0, {
      suspects: all.slice(1, 2).map((next) => next.suspect),
      mismatches: [{ collection: 0, mismatch }],
      agreed: 0,
      proven: 1,
    });
  }
  await using state = await ComparisonState.open(folder);
  expect(state.generation).toEqual({ number: 1, offset: offsets[1] });
  expect(state.totals).toMatchObject({ suspects: 2, mismatches: 1, agreed: 0 });
  expect(await suspectIds(state, 1)).toEqual([2]);
  const mismatches = [];
  for await (const mismatch of state.mismatches()) mismatches.push(mismatch);
  expect(mismatches).toEqual([
    {
      namespace: 'db.coll',
      kind: 'missingOnDestination',
      _id: { $numberInt: '1' },
      paths: [],
      firstSeen: '1970-01-01T00:00:00.001Z',
      lastSeen: '1970-01-01T00:00:00.002Z',
      looks: 2,
      proven: true,
    },
  ]);
});

test('a folder is used by one process at a time', async () => {
  const folder = newFolder();
  await using state = await ComparisonState.open(folder);
  await expect(ComparisonState.open(folder), `run ${state.runs}`).rejects.toMatchObject({
    error: 'invalidConfiguration',
  });
});

test('without a plan nothing of an earlier process remains', async () => {
  const folder = newFolder();
  {
    await using state = await ComparisonState.open(folder);
    await state.addSuspects(origin(0, 1), [suspect(1)]);
  }
  await using state = await ComparisonState.open(folder);
  expect(state).toMatchObject({ plan: null, runs: 1 });
  expect(await suspectIds(state, 0)).toEqual([]);
});
