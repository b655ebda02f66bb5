/** Stats that not every instance knows: unknown values are skipped, and all unknown gives null. */
function known<Stat>(stats: readonly (Stat | null | undefined)[]): Stat[] {
  return stats.filter((stat): stat is Stat & NonNullable<unknown> => stat !== null && stat !== undefined);
}

/** The sum of the known values; null when there are none. */
export function sumOf(stats: readonly (number | null | undefined)[]): number | null {
  const summands = known(stats);
  return summands.length === 0 ? null : summands.reduce((sum, stat) => sum + stat, 0);
}

/** The largest known value; null when there is none. */
export function maxOf(stats: readonly (number | null | undefined)[]): number | null {
  return known(stats).reduce<number | null>(
    (largest, stat) => (largest === null ? stat : Math.max(largest, stat)),
    null,
  );
}

/** The first known value; null when there is none. */
export function firstOf<Value>(values: readonly (Value | null | undefined)[]): Value | null {
  return known(values)[0] ?? null;
}

/**
 * The value that comes first in a fixed order; other values come last.
 * @returns null when no value is known
 */
export function earliestOf<Value extends string>(
  order: readonly string[],
  values: readonly (Value | null | undefined)[],
): Value | null {
  const rank = (value: Value): number => {
    const at = order.indexOf(value);
    return at === -1 ? order.length : at;
  };
  return known(values).reduce<Value | null>(
    (first, value) => (first === null || rank(value) < rank(first) ? value : first),
    null,
  );
}
