import { describe, expect, it } from 'vitest';
import { decodeHorizon, encodeHorizon } from '../../../src/membership/horizon-message.js';

describe('horizons', () => {
  it('come back as they were sent, with all 64 bits of their time', () => {
    const horizon = { migration: 'm', time: 2n ** 63n - 1n, ordinal: 12 };
    expect(decodeHorizon(encodeHorizon(horizon))).toEqual(horizon);
  });

  it.each(['', '{', 'null', '{"migration":"m","time":"x","ordinal":1}', '{"migration":"m","time":"1","ordinal":-1}', `"${'x'.repeat(5_000)}"`])('are refused when they are none (%#)', (text) => {
    expect(decodeHorizon(text)).toBeNull();
  });
});
