import { randomBytes } from 'node:crypto';
import { Long, MinKey } from 'mongodb';
import { expect, it } from 'vitest';
import { HashedRanges } from '../../../src/bson/hashed-ranges.js';
import { encodeValue } from '../../../src/bson/scan.js';

const halvesOf = (hash: bigint) => ({ high: Number(hash >> 32n), low: Number(hash & 0xffff_ffffn) });

/** The last range whose lower bound is at most the hash, by linear search. */
function slowly(lowest: readonly bigint[], hash: bigint): number {
  return Math.max(
    0,
    lowest.findLastIndex((bound) => bound <= hash),
  );
}

it.each([1, 2, 3, 17, 1_000])('finds the range of a hash among %d', (ranges) => {
  const seed = randomBytes(8 * ranges);
  const bounds = Array.from({ length: ranges - 1 }, (_, index) => seed.readBigInt64LE(8 * index)).sort((a, b) =>
    a < b ? -1 : 1,
  );
  const lowest = [-(2n ** 63n), ...bounds];
  const found = new HashedRanges([
    encodeValue(new MinKey()),
    ...bounds.map((bound) => encodeValue(Long.fromBigInt(bound))),
  ]);
  const near = bounds.flatMap((bound) => [bound - 1n, bound, bound + 1n]);
  for (const hash of [...near, -(2n ** 63n), 2n ** 63n - 1n, 0n, -1n, 2n ** 32n - 1n, -(2n ** 32n)]) {
    const within = BigInt.asIntN(64, hash);
    expect(found.positionOf(halvesOf(within)), `${seed.toString('hex')} ${within}`).toBe(slowly(lowest, within));
  }
});
