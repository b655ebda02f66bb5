import { expect, it } from 'vitest';
import { isFor, releasesText, type Version } from '../../../src/framework/probe.js';

const releases = {
  from: [8, 0, 0],
  backports: [
    [7, 0, 13],
    [6, 0, 17],
  ],
} as const;

it.each<[Version, boolean]>([
  [[8, 0, 0], true],
  [[8, 2, 1], true],
  [[7, 3, 4], false],
  [[7, 0, 16], true],
  [[7, 0, 12], false],
  [[6, 0, 14], false],
  [[5, 0, 29], false],
])('a sentence applies to the patch releases that have it too: %j', (version, expected) => {
  expect(isFor(releases, version)).toBe(expected);
});

it('lists them', () => {
  expect(releasesText(releases)).toBe('from 8.0, 7.0.13, 6.0.17 on');
  expect(releasesText({ below: [6, 0, 0] })).toBe('before 6.0');
});
