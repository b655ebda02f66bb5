import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** Writes files for each test of a suite, in a folder that goes with the test. Returns a file's path. */
export function writtenFiles(): (name: string, text: string) => string {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'convoy-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  return (name, text) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
}
