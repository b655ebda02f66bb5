import { describe, expect, it } from 'vitest';
import {
  mustRecountCopy,
  usesOldNames,
  refuseNewerRelease,
  refuseUnreadable,
} from '../../../../src/lifecycle/migration/release.js';

describe('a migration that another release has begun', () => {
  it.each([
    ['1.7.9', true],
    ['1.7', true],
    ['0.9.12', true],
    ['1.8.0', false],
    ['1.8', false],
    ['1.10.0', false],
    ['2.0.0', false],
  ])('%s: recounts the copy: %s', (recorded, expected) => {
    expect(mustRecountCopy(recorded)).toBe(expected);
  });

  it('is taken over from the same release and from earlier ones only', () => {
    for (const recorded of ['1.7.9', '1.9.0']) expect(() => refuseNewerRelease(recorded, '1.9.0')).not.toThrow();
    for (const recorded of ['1.9.1', '1.10.0', '2.0.0'])
      expect(() => refuseNewerRelease(recorded, '1.9.0')).toThrow(
        expect.objectContaining({ error: 'metadataFromNewerRelease' }),
      );
  });

  it('has metadata under former names when it is earlier than 2.0, which readers refuse', () => {
    expect(['1.9.0', '1.10', '2.0', '2.0.0', '3.1.0'].map(usesOldNames)).toEqual([true, true, false, false, false]);
    expect(() => refuseUnreadable('1.9.0', '2.1.0')).toThrow(
      expect.objectContaining({ error: 'metadataFromOlderRelease' }),
    );
    expect(() => refuseUnreadable('2.0.0', '2.1.0')).not.toThrow();
  });
});
