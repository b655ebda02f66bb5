const seedMax = 2 ** 31;

/**
 * The seed of all random cases of this process: a new one, or that of CONVOY_TEST_SEED, which repeats those of another.
 */
export const testSeed = Number(process.env['CONVOY_TEST_SEED'] ?? Math.floor(Math.random() * seedMax));

/** Seeds for the cases of a test that has several; with CONVOY_TEST_SEED the one that is to be repeated. */
export function testSeeds(count: number): number[] {
  if (process.env['CONVOY_TEST_SEED'] !== undefined) return [testSeed];
  return Array.from({ length: count }, (_, index) => (testSeed + index) % seedMax);
}
