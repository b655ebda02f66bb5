import { describe, expect, it } from 'vitest';
import { readConfigFile } from '@convoy/api/configuration/config-file';
import { writtenFiles } from './written-files.js';

describe('readConfigFile', () => {
  const written = writtenFiles();

  it('reads JSON, also indented with tabs', () => {
    const settings = { fleet: 'blue', allowedHosts: ['a', 'b'], shards: { cluster0: { user: 'ü\n"' } } };
    for (const space of [0, 2, '\t'])
      expect(readConfigFile(written('settings.json', JSON.stringify(settings, null, space))).file).toEqual(settings);
  });

  it('reads YAML, and knows the line of each value', () => {
    const text = '# Ours.\nfleet: blue\nredis:\n  host: redis.example\n  sentinels:\n    - host: a\n    - host: b\n';
    const { file, placeOf } = readConfigFile(written('convoy.yaml', text));
    expect(file).toEqual({
      fleet: 'blue',
      redis: { host: 'redis.example', sentinels: [{ host: 'a' }, { host: 'b' }] },
    });
    expect(placeOf(['fleet'])).toBe('convoy.yaml, line 2');
    expect(placeOf(['redis', 'host'])).toBe('convoy.yaml, line 4');
    expect(placeOf(['redis', 'sentinels', 1, 'host'])).toBe('convoy.yaml, line 7');
    expect(placeOf(['redis', 'port'])).toBeNull();
    expect(placeOf(['fleet', 'x', 0])).toBeNull();
  });

  it('takes an empty file as no settings', () => {
    expect(readConfigFile(written('empty.yaml', '# nothing\n')).file).toEqual({});
  });

  it.each([
    ['{"token": "s3cret"', 1],
    ['token: *s3cret\n', 1],
    [`a: &a [s3cret]\nb: &b [${'*a,'.repeat(20)}]\nc: [${'*b,'.repeat(20)}]\n`, 1],
    ['fleet: blue\nport: 1\n token: s3cret\n', 2],
    ['token: a\ntoken: s3cret\n', 2],
    ['fleet: "blue\ntoken: s3cret\n', 3],
  ])('names the line of an error in %j, and does not show its text', (text, line) => {
    const read = () => readConfigFile(written('convoy.yaml', text));
    expect(read).toThrow(/^invalidConfiguration: configuration \(convoy\.yaml, line \d, column \d+\): is neither YAML/);
    expect(read).toThrow(`line ${line},`);
    expect(read).not.toThrow('s3cret');
  });

  it('reports a file that cannot be read', () => {
    expect(() => readConfigFile('/nowhere/none.yaml')).toThrow('configuration (none.yaml): the file cannot be read');
  });
});
