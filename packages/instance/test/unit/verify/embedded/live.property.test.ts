import fc from 'fast-check';
import { expect, test } from 'vitest';
import { evenly } from '../evenly.js';
import { LiveMigration } from './live-migration.js';

const full = process.env['CONVOY_TEST_FULL'] === '1';
const untouched = 10;

const cases = fc.record({
  documents: fc.integer({ min: 50, max: 1_500 }),
  tasks: fc.integer({ min: 1, max: 3 }),
  parts: fc.integer({ min: 1, max: 6 }),
  comparers: fc.integer({ min: 1, max: 4 }),
  writesPerSecond: fc.constantFrom(1, 30, 300),
  lag_ms: fc.constantFrom(0, 400, 5_000),
  stall_ms: fc.constantFrom(0, 3_000),
  batchMax: fc.integer({ min: 1, max: 100 }),
  callMax_ms: fc.constantFrom(5, 50),
});

test(
  'no run under heavy writes with a late destination gives a false alarm, and each finds what is wrong',
  { timeout: 300_000 },
  async () => {
    const property = fc.asyncProperty(
      fc.nat(),
      cases,
      fc.integer({ min: 0, max: 5 }),
      fc.integer({ min: 0, max: 3 }),
      async (seed, given, wrong, kills) => {
        const random = evenly(seed);
        const writesEnd_ms = 2_000 + random() * 8_000;
        const migration = new LiveMigration({
          ...given,
          random,
          writesEnd_ms,
          writtenBelow: given.documents - untouched,
        });
        const { clock, destination } = migration;
        const { signal } = new AbortController();
        const sabotaged = Array.from({ length: wrong }, (_, index) => given.documents - untouched + index);
        const sabotage = async (id: number): Promise<void> => {
          await clock.sleep(random() * writesEnd_ms, signal);
          destination.write(id, random() < 0.5 ? undefined : 7);
        };
        const strike = async (): Promise<void> => {
          await clock.sleep(random() * writesEnd_ms, signal);
          await migration.kill(Math.floor(random() * given.tasks));
        };
        const differing = await clock.run(
          migration.during(async () => {
            await Promise.all([migration.live(), ...sabotaged.map(sabotage), ...Array.from({ length: kills }, strike)]);
            return migration.finalComparison();
          }),
        );
        expect(migration.mismatches).toEqual(sabotaged);
        expect(differing > 0).toBe(wrong > 0);
      },
    );
    await fc.assert(property, { numRuns: full ? 200 : 20 });
  },
);

test(
  'a verifier that is killed 20 times compares everything and repeats less than a tenth',
  { timeout: 120_000 },
  async () => {
    const documents = 200_000;
    const random = evenly(20);
    const wrong = [0, 77_777, 123_456, 199_999];
    const kills = 20;
    const migration = new LiveMigration({
      random,
      documents,
      tasks: 1,
      parts: 8,
      comparers: 4,
      writesPerSecond: 2,
      writesEnd_ms: 900_000,
      writtenBelow: documents,
      lag_ms: 2_000,
      stall_ms: 0,
      batchMax: 100,
      callMax_ms: 500,
    });
    const { clock, source, destination } = migration;
    const { signal } = new AbortController();
    const strike = async (): Promise<void> => {
      for (let left = kills; left > 0; left -= 1) {
        await clock.sleep(2 * random() * 40_000, signal);
        await migration.kill(0);
      }
    };
    const differing = await clock.run(
      migration.during(async () => {
        await Promise.all([migration.live(), strike()]);
        for (const id of wrong) destination.write(id, 9);
        return migration.finalComparison();
      }),
    );
    expect(migration.mismatches).toEqual(wrong);
    expect(differing).toBe(wrong.length);
    const [process] = migration.processes;
    expect(process?.verifier.hasCompared).toBe(true);
    expect(source.documentsRead).toBeGreaterThan(0.8 * documents);
    expect(source.documentsRead + destination.documentsRead).toBeLessThan(1.1 * 2 * documents);
  },
);

test(
  'comparing and checking keys yield while a commit waits for applying, and the final comparison makes up for it',
  { timeout: 60_000 },
  async () => {
    const drain = { isOn: false };
    const random = evenly(3);
    const migration = new LiveMigration({
      random,
      documents: 2_000,
      tasks: 1,
      parts: 2,
      comparers: 1,
      writesPerSecond: 300,
      writesEnd_ms: 6_000,
      writtenBelow: 2_000,
      lag_ms: 400,
      stall_ms: 0,
      batchMax: 10,
      callMax_ms: 50,
      isDraining: () => drain.isOn,
    });
    const { clock, source } = migration;
    const { signal } = new AbortController();
    const looks = (): number[] => [source.documentsRead, source.keysLookedUp];
    await clock.run(
      migration.during(async () => {
        const living = migration.live();
        await clock.sleep(2_000, signal);
        drain.isOn = true;
        // Running calls end.
        await clock.sleep(1_000, signal);
        const before = looks();
        await clock.sleep(2_000, signal);
        expect(looks()).toEqual(before);
        expect(Math.min(...before)).toBeGreaterThan(0);
        drain.isOn = false;
        await living;
        expect(await migration.finalComparison()).toBe(0);
      }),
    );
    expect(migration.processes[0]?.verifier.hasCompared).toBe(true);
  },
);
