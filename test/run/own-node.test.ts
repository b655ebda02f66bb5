import { describe, expect, test } from 'vitest';
import { readText, trackedFiles } from '../source-tree.js';

const { isSupported } = (await import(new URL('../../scripts/own-node.mjs', import.meta.url).href)) as {
  isSupported: (version: string) => boolean;
};

describe('Node.js', () => {
  test.each([
    ['20.20.2', false],
    ['22.11.0', false],
    ['22.12.0', true],
    ['24.0.0', true],
    ['26.10.0', true],
  ])('%s is supported: %s', (version, supported) => {
    expect(isSupported(version)).toBe(supported);
  });

  test('has one oldest version in all packages, README and CONTRIBUTING', () => {
    const engines = trackedFiles()
      .filter((path) => /^(packages\/[a-z]+\/)?package\.json$/.test(path))
      .map((path) => (JSON.parse(readText(path)) as { engines?: { node: string } }).engines?.node);
    expect(new Set(engines)).toEqual(new Set(['>=22.12.0']));
    expect(readText('README.md')).toContain('Node.js 22.12');
    expect(readText('CONTRIBUTING.md')).toContain('Node.js 22.12');
  });

  test('of the image is one that is supported', () => {
    const versions = [...readText('Dockerfile').matchAll(/^FROM node:(\d+)-/gm)].map(([, version]) => version);
    expect(versions.every((version) => isSupported(`${version}.0.0`))).toBe(true);
    expect(versions.length).toBeGreaterThan(0);
  });
});
