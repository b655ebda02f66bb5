import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const source = new URL('../../../src/process/bound-heap.ts', import.meta.url);
const mebibyte = 2 ** 20;

/** Runs a program in a process of its own. @returns what it prints, as JSON */
async function printed(program: string): Promise<unknown> {
  const flags = ['--experimental-strip-types', '--no-warnings', '--input-type=module'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--eval', program]);
  return JSON.parse(stdout) as unknown;
}

/** Makes objects that survive for a while; prints the largest sizes of young generation and heap in bytes. */
const objects = `
  import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';
  import { setImmediate } from 'node:timers/promises';
  const { boundHeap } = await import('${source.href}');
  boundHeap();
  const kept = Array.from({ length: 100_000 });
  const largest = { young: 0, heap: 0 };
  for (let round = 0; round < 60; round += 1) {
    for (let i = 0; i < 50_000; i += 1) kept[(round * 50_000 + i) % kept.length] = { round, of: [i, i, i, i] };
    const [young] = getHeapSpaceStatistics().filter((one) => one.space_name === 'new_space');
    largest.young = Math.max(largest.young, young.space_size);
    largest.heap = Math.max(largest.heap, getHeapStatistics().used_heap_size);
    await setImmediate();
  }
  console.log(JSON.stringify(largest));
`;

/** Fills one buffer after the other, of which the last eight are in use; prints the most bytes that they took. */
const buffers = `
  import { getHeapStatistics } from 'node:v8';
  import { setTimeout } from 'node:timers/promises';
  const { boundHeap } = await import('${source.href}');
  boundHeap();
  const used = Array.from({ length: 8 });
  let largest = 0;
  for (let round = 0; round < 600; round += 1) {
    used[round % used.length] = Buffer.alloc(${mebibyte}, 1);
    largest = Math.max(largest, getHeapStatistics().external_memory);
    await setTimeout(1);
  }
  console.log(JSON.stringify(largest));
`;

it('keeps young generation and heap far below what Node.js 24 gives them', async () => {
  const { young, heap } = (await printed(objects)) as { young: number; heap: number };
  expect(young).toBeLessThanOrEqual(2 * 16 * mebibyte);
  expect(heap).toBeLessThanOrEqual(80 * mebibyte);
});

it('frees buffers that are no longer used, although few objects are made beside them', async () => {
  expect(await printed(buffers)).toBeLessThanOrEqual(100 * mebibyte);
});
