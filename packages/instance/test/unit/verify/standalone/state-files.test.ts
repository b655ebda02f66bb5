import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { LineFile } from '../../../../src/verify/standalone/state-files.js';

const folder = mkdtempSync(join(tmpdir(), 'convoy-lines-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
const newPath = () => join(folder, `${(files += 1)}.ndjson`);

async function valuesOf(file: LineFile, from = 0): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const { value } of file.lines(from)) values.push(value);
  return values;
}

test('returns what was appended, in the order of the calls', async () => {
  const file = await LineFile.open(newPath());
  await Promise.all([file.append([{ n: 1 }, { n: 2 }]), file.append([{ n: 'ü\n' }])]);
  expect(await valuesOf(file)).toEqual([{ n: 1 }, { n: 2 }, { n: 'ü\n' }]);
  await file.close();
});

test('continues after any line, and over many reads of the disk', async () => {
  const file = await LineFile.open(newPath());
  const lines = Array.from({ length: 3_000 }, (_, n) => ({ n, text: 'x'.repeat(n % 500) }));
  await file.append(lines);
  const ends: number[] = [];
  for await (const { end } of file.lines()) ends.push(end);
  expect(ends.at(-1)).toBe(file.length);
  expect(await valuesOf(file)).toEqual(lines);
  expect(await valuesOf(file, ends[1_499])).toEqual(lines.slice(1_500));
  await file.close();
});

test('drops an incomplete line of a killed process', async () => {
  const path = newPath();
  const file = await LineFile.open(path);
  await file.append([{ n: 1 }]);
  await file.close();
  appendFileSync(path, '{"n":');
  const opened = await LineFile.open(path);
  await opened.append([{ n: 2 }]);
  expect(await valuesOf(opened)).toEqual([{ n: 1 }, { n: 2 }]);
  await opened.close();
  expect(readFileSync(path, 'utf8')).toBe('{"n":1}\n{"n":2}\n');
});

test('truncates after a position', async () => {
  const file = await LineFile.open(newPath());
  await file.append([{ n: 1 }]);
  const { length } = file;
  await file.append([{ n: 2 }]);
  await file.truncate(length);
  await file.append([{ n: 3 }]);
  expect(await valuesOf(file)).toEqual([{ n: 1 }, { n: 3 }]);
  await file.close();
});
