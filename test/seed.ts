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

/** One of some variants, by the seed. */
export function drawn<Variant>(variants: readonly Variant[]): readonly Variant[] {
  const place = testSeed % variants.length;
  return variants.slice(place, place + 1);
}

/** Whether this run has the full counts and all variants; a usual one has a sample of each. */
export const isFullRun = process.env['CONVOY_TEST_FULL'] === '1';

/** Whether a run has all variants with the usual counts, so that it notices a sabotage whatever the seed. */
const hasAllVariants = process.env['CONVOY_TEST_VARIANTS'] === 'all';

/** What a run tries of some variants: one by the seed, or all (CONVOY_TEST_FULL=1, CONVOY_TEST_VARIANTS=all). */
export function sampled<Variant>(variants: readonly Variant[]): readonly Variant[] {
  return isFullRun || hasAllVariants ? variants : drawn(variants);
}
