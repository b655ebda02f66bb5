import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const source = new URL('../../../src/process/bound-heap.ts', import.meta.url);

/** Fills the young generation with objects that survive for a while; prints its largest size in bytes. */
const program = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { setImmediate } from 'node:timers/promises';
  const { boundHeap } = await import('${source.href}');
  boundHeap();
  let kept = [];
  let largest = 0;
  for (let round = 0; round < 150; round += 1) {
    for (let i = 0; i < 100_000; i += 1) kept.push({ round, of: [i] });
    if (kept.length > 300_000) kept = [];
    largest = Math.max(largest, getHeapSpaceStatistics().find((one) => one.space_name === 'new_space').space_size);
    await setImmediate();
  }
  console.log(largest);
`;

it('keeps the young generation far below the 128 MiB that Node.js 24 gives it (22 gives 32)', async () => {
  const flags = ['--experimental-strip-types', '--no-warnings', '--input-type=module'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--eval', program]);
  expect(Number(stdout)).toBeLessThanOrEqual(2 * 16 * 2 ** 20);
});
