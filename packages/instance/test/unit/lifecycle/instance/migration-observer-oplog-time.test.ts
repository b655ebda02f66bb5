import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { oplogTimeInWords } from '@convoy/api/contract/oplog-time';
import { oplogRemaining } from '../../../../src/lifecycle/instance/migration-observer.js';

const hour = 3600;
const full = { newest_seconds: 1_000_000, covered_seconds: 10 * hour, fullness: 1 };

describe('the time that an oplog leaves', () => {
  it('is the time it covers, less the lag', () => {
    expect(oplogRemaining(full, full.newest_seconds)).toBe(10 * hour);
    expect(oplogRemaining(full, full.newest_seconds - 2 * hour)).toBe(8 * hour);
  });

  it('of an oplog that is not full is the time it will cover', () => {
    expect(oplogRemaining({ ...full, fullness: 0.25 }, full.newest_seconds)).toBe(40 * hour);
  });

  it('is unknown for a young one', () => {
    expect(oplogRemaining({ ...full, covered_seconds: 60, fullness: 0.25 }, null)).toBeNull();
  });

  it('is all of it before there is a checkpoint, and for one ahead of the oplog that was read', () => {
    expect(oplogRemaining(full, null)).toBe(10 * hour);
    expect(oplogRemaining(full, full.newest_seconds + 5)).toBe(10 * hour);
  });

  it('is never negative', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(),
        (covered_seconds, fullness, checkpoint_seconds) => {
          expect(
            oplogRemaining({ newest_seconds: 2 ** 31, covered_seconds, fullness }, checkpoint_seconds) ?? 0,
          ).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });
});

describe('in words', () => {
  it.each([
    [null, 'not checked yet'],
    [0, 'less than 15 minutes'],
    [899, 'less than 15 minutes'],
    [900, '15 minutes'],
    [hour - 1, '59 minutes'],
    [hour, '1 hour'],
    [12.9 * hour, '12 hours'],
    [72 * hour - 1, '71 hours'],
    [72 * hour, 'more than 72 hours'],
  ])('%s seconds are: %s', (seconds, words) => {
    expect(oplogTimeInWords(seconds)).toBe(words);
  });
});
