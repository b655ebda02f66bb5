const full = process.env['CONVOY_TEST_FULL'] === '1';

/** How often a property is tried: `few` times in `npm test`, `many` times when CONVOY_TEST_FULL=1. */
export function runs(few: number, many: number): { numRuns: number } {
  return { numRuns: full ? many : few };
}
