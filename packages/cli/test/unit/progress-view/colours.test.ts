import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { coloured, withoutColours } from '@convoy/cli/progress-view/colours';

const lines = [
  '✓ passed     clusters  cluster0 to cluster1.',
  '! warning    matched  Nothing matches.',
  '✗ does not hold  a probe',
  '? unchecked  oplogWindow  Not checked.',
  'no commit yet: the lag is 40 s',
  'COMMITTED · lag 0 s',
  'Next: Run convoy commit.',
];
const stream = new Writable();

describe('colours', () => {
  beforeEach(() => {
    vi.stubEnv('NO_COLOR', undefined);
    vi.stubEnv('FORCE_COLOR', '1');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('mark what a line begins with, and change no character', () => {
    for (const line of lines) {
      expect(coloured(line, stream).startsWith('\u001B[')).toBe(true);
      expect(stripVTControlCharacters(coloured(line, stream))).toBe(line);
    }
    expect(coloured('indexes: 3 of 5 built', stream)).toBe('indexes: 3 of 5 built');
  });

  it('are left out with --no-color, also where FORCE_COLOR is set, and where there is no terminal', () => {
    withoutColours(process.env);
    for (const line of lines) expect(coloured(line, stream)).toBe(line);
    vi.stubEnv('NO_COLOR', undefined);
    for (const line of lines) expect(coloured(line, stream)).toBe(line);
  });
});
