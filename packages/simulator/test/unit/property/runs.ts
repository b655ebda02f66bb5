import { vi } from 'vitest';

const full = process.env['CONVOY_TEST_FULL'] === '1';
/** Random cases on a machine that is busy with other tests. */
vi.setConfig({ testTimeout: full ? 240_000 : 60_000 });

/** How often a property is tried: `few` times in `npm test`, `many` times when CONVOY_TEST_FULL=1. */
export function runs(few: number, many: number): { numRuns: number } {
  return { numRuns: full ? many : few };
}
