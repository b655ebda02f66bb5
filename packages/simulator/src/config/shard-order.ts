/** The multiplier and the modulus of the generator `minstd_rand0`. */
const multiplier = 16_807;
const modulus = 2_147_483_647;

/**
 * The order in which 8.0 gives the first chunks to shards: shuffled by a generator that always begins with the same
 * seed (server source: `initial_split_policy.cpp`; the steps are those of `std::shuffle` of libstdc++).
 */
export function shuffledShards(shards: readonly string[]): string[] {
  const order = [...shards];
  let state = 1;
  const below = (count: number): number => {
    const scaling = Math.floor((modulus - 2) / count);
    for (;;) {
      state = (state * multiplier) % modulus;
      if (state - 1 < count * scaling) return Math.floor((state - 1) / scaling);
    }
  };
  const swap = (at: number, other: number): void => {
    [order[at], order[other]] = [order[other] ?? '', order[at] ?? ''];
  };
  let at = 1;
  if (order.length > 1 && order.length % 2 === 0) {
    swap(1, below(2));
    at = 2;
  }
  for (; at < order.length; at += 2) {
    const pair = below((at + 1) * (at + 2));
    swap(at, Math.floor(pair / (at + 2)));
    if (at + 1 < order.length) swap(at + 1, pair % (at + 2));
  }
  return order;
}
