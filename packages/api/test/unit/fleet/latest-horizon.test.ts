import { describe, expect, it } from 'vitest';
import { latestHorizon } from '../../../src/fleet/latest-horizon.js';

const horizon = (migration: string, time: bigint) => ({ migration, time, ordinal: 0 });

describe('the latest horizon', () => {
  it('is the first that is heard', () => {
    expect(latestHorizon(null, horizon('m', 1n))).toEqual(horizon('m', 1n));
  });

  it('does not go back when an earlier one arrives late', () => {
    expect(latestHorizon(horizon('m', 5n), horizon('m', 1n))).toEqual(horizon('m', 5n));
    expect(latestHorizon(horizon('m', 5n), horizon('m', 6n))).toEqual(horizon('m', 6n));
  });

  it('is that of the migration that was heard last', () => {
    expect(latestHorizon(horizon('m', 5n), horizon('n', 1n))).toEqual(horizon('n', 1n));
  });
});
