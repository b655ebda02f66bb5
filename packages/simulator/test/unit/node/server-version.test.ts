import { describe, expect, it } from 'vitest';
import { defaultVersion, ServerVersion } from '../../../src/node/server-version.js';

describe('the release of a simulated server', () => {
  it('is the recorded 8.0.10 by default', () => {
    expect(defaultVersion.text).toBe('8.0.10');
  });

  it.each([
    ['4.4', 9],
    ['5.0', 13],
    ['6.0', 17],
    ['7.0', 21],
    ['8.0', 25],
  ])('%s speaks up to wire version %i', (series, wireVersion) => {
    const version = ServerVersion.parse(series);
    expect(version.wireVersionMax).toBe(wireVersion);
    expect(version.text.startsWith(`${series}.`)).toBe(true);
    expect(version.featureCompatibilityVersion).toBe(series);
  });

  it('compares by series', () => {
    const version = ServerVersion.parse('6.0');
    expect(version.atLeast(6, 0)).toBe(true);
    expect(version.atLeast(5, 0)).toBe(true);
    expect(version.atLeast(7, 0)).toBe(false);
    expect(ServerVersion.parse('4.4').atLeast(4, 2)).toBe(true);
    expect(ServerVersion.parse('4.4').atLeast(5)).toBe(false);
  });

  it('refuses a series that is not simulated', () => {
    expect(() => ServerVersion.parse('4.2')).toThrow(RangeError);
  });
});
