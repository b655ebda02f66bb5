import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { encodeValue } from '../../../src/bson/scan.js';
import { looksForProof } from '../../../src/verify/compare/check-again.js';
import { knownTimes } from '../../../src/verify/compare/sides.js';
import { firstGeneration, laterGenerations } from '../../../src/verify/standalone/generations.js';
import type { ComparisonDependencies, ComparisonOptions } from '../../../src/verify/standalone/compare-clusters.js';
import type { ComparisonPlan } from '../../../src/verify/standalone/comparison-plan.js';
import { ComparisonState } from '../../../src/verify/standalone/comparison-state.js';
import { evenly } from './evenly.js';
import { Killed, LivePair } from './live-pair.js';

const root = mkdtempSync(join(tmpdir(), 'convoy-live-'));
afterAll(() => rmSync(root, { recursive: true }));

let folders = 0;
const newFolder = () => join(root, String((folders += 1)));

function planOf(documents: number, parts: number): ComparisonPlan {
  const bounds = [
    null,
    ...Array.from({ length: parts - 1 }, (_, part) => encodeValue(Math.floor((documents * (part + 1)) / parts))),
    null,
  ];
  return {
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
        documentCount: documents,
      },
    ],
    partitions: bounds
      .slice(0, -1)
      .map((lower, number) => ({ number, collection: 0, lower, upper: bounds[number + 1] ?? null })),
  };
}

/** Compares a pair's documents, again after each kill; `killAfter` gives the calls until the next one. */
async function compare(
  pair: LivePair,
  options: ComparisonOptions,
  killAfter: () => number,
): Promise<{ ids: number[]; kinds: string[]; state: Pick<ComparisonState, 'totals' | 'runs'> }> {
  const folder = newFolder();
  for (;;) {
    pair.callsLeft = killAfter();
    await using state = await ComparisonState.open(folder);
    const deps: ComparisonDependencies = {
      source: pair.source,
      destination: pair.destination,
      state,
      options,
      clock: pair.clock,
      retrying: (_what, operation) => operation(),
      entered: () => undefined,
      signal: new AbortController().signal,
    };
    if (state.plan === null) await state.begin('identity', 0, planOf(pair.options.documents, 4));
    try {
      await firstGeneration(deps, await knownTimes(deps, deps.signal));
      await laterGenerations(deps);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      continue;
    }
    const found = [];
    for await (const mismatch of state.mismatches()) found.push(mismatch);
    return {
      ids: found.map(({ _id }) => Number((_id as { $numberInt: string }).$numberInt)),
      kinds: found.map(({ kind }) => kind),
      state: { totals: { ...state.totals }, runs: state.runs },
    };
  }
}

const full = process.env['CONVOY_TEST_FULL'] === '1';

test(
  'no run under heavy writes with a late destination gives a false alarm, and each finds what is wrong',
  { timeout: 180_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.record({
          documents: fc.integer({ min: 50, max: 1_500 }),
          writesPerMs: fc.constantFrom(0.1, 1, 10),
          lag_ms: fc.integer({ min: 0, max: 400 }),
          batchMax: fc.integer({ min: 1, max: 100 }),
          wrong: fc.integer({ min: 0, max: 5 }),
          kills: fc.integer({ min: 0, max: 3 }),
        }),
        async (seed, { documents, writesPerMs, lag_ms, batchMax, wrong, kills }) => {
          const random = evenly(seed);
          const untouched = 10;
          const pair = new LivePair({
            random,
            documents,
            writesPerMs,
            writesEnd_ms: 3_000,
            writtenBelow: documents - untouched,
            lag_ms,
            batchMax,
          });
          const sabotaged = Array.from({ length: wrong }, (_, index) => documents - untouched + index);
          for (const id of sabotaged) pair.found[id] = random() < 0.5 ? undefined : 7;
          let left = kills;
          const killAfter = () => ((left -= 1) >= 0 ? 1 + Math.floor(random() * 60) : Infinity);
          const options: ComparisonOptions = {
            rule: { settle_ms: 1_600, looksMin: looksForProof },
            generationsMax: 100,
            readers: 2,
            record_ms: 20,
            shardKeys: true,
          };
          const compared = await compare(pair, options, killAfter);
          expect(compared.ids.sort((a, b) => a - b)).toEqual(sabotaged);
          expect(compared.state.totals).toMatchObject({ suspects: 0, mismatches: wrong });
        },
      ),
      { numRuns: full ? 200 : 40 },
    );
  },
);

test(
  'a comparison that is killed 20 times compares everything and repeats less than a tenth',
  { timeout: 60_000 },
  async () => {
    const documents = 200_000;
    const random = evenly(20);
    const pair = new LivePair({
      random,
      documents,
      writesPerMs: 1,
      writesEnd_ms: 0,
      writtenBelow: 0,
      lag_ms: 0,
      batchMax: 100,
    });
    const sabotaged = [0, 77_777, 123_456, 199_999];
    for (const id of sabotaged) pair.found[id] = undefined;
    const callsOfAll = (2 * documents) / pair.options.batchMax;
    let kills = 20;
    const killAfter = () => ((kills -= 1) >= 0 ? Math.floor((random() * callsOfAll) / 11) : Infinity);
    const compared = await compare(
      pair,
      { rule: { settle_ms: 0, looksMin: 3 }, generationsMax: 10, readers: 2, record_ms: 0, shardKeys: true },
      killAfter,
    );
    expect(compared.ids.sort((a, b) => a - b)).toEqual(sabotaged);
    expect(compared.kinds).toEqual(sabotaged.map(() => 'missingOnDestination'));
    expect(compared.state).toMatchObject({
      runs: 21,
      totals: { sourceDocuments: documents, destinationDocuments: documents - sabotaged.length },
    });
    expect(pair.documentsRead).toBeLessThan(1.1 * (2 * documents));
  },
);
