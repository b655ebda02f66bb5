import { describe, expect, it } from 'vitest';
import { countsCopyAnew, refuseNewerRelease } from '../../../../src/lifecycle/migration/release.js';

describe('a migration that another release has begun', () => {
  it.each([
    ['1.7.9', true],
    ['1.7', true],
    ['0.9.12', true],
    ['1.8.0', false],
    ['1.8', false],
    ['1.10.0', false],
    ['2.0.0', false],
  ])('%s: counts the copy anew: %s', (recorded, expected) => {
    expect(countsCopyAnew(recorded)).toBe(expected);
  });

  it('is taken over from the same release and from earlier ones only', () => {
    for (const recorded of ['1.7.9', '1.9.0']) expect(() => refuseNewerRelease(recorded, '1.9.0')).not.toThrow();
    for (const recorded of ['1.9.1', '1.10.0', '2.0.0'])
      expect(() => refuseNewerRelease(recorded, '1.9.0')).toThrow(
        expect.objectContaining({ error: 'metadataFromNewerRelease' }),
      );
  });
});
