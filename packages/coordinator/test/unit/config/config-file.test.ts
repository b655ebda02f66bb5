import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfigFile } from '../../../src/config/config-file.js';

describe('readConfigFile', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'convoy-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("returns the file's settings", () => {
    const path = join(folder, 'coordinator.json');
    writeFileSync(path, '{"fleet": "blue"}');
    expect(readConfigFile(path)).toEqual({ fleet: 'blue' });
  });

  it('does not show the text of a file that is not JSON', () => {
    const path = join(folder, 'coordinator.json');
    writeFileSync(path, '{"token": "s3cret"');
    expect(() => readConfigFile(path)).toThrow(/^invalidConfiguration: configuration: the file is not JSON\./);
    expect(() => readConfigFile(join(folder, 'none'))).toThrow('cannot be read');
  });
});
