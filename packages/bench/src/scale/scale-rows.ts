import { type Row, rowMaker } from '../benchmark.js';

/** One measured value of a fleet. */
export type Stat = readonly [metric: string, value: number, unit: string];

/** What a fleet of one size was measured at. */
export interface MeasuredFleet {
  size: number;
  stats: readonly Stat[];
}

/**
 * The rows of fleets of one kind, and how each value grows from the smallest to the largest: the exponent of the size,
 * 1 for linear, 2 for quadratic.
 */
export function scaleRows(kind: string, measured: readonly MeasuredFleet[]): Row[] {
  const rows = measured.flatMap(({ size, stats }) =>
    stats.map(([metric, value, unit]): Row => rowMaker(`${kind}, ${size} instances`)(metric, value, unit)),
  );
  const [least, most] = [measured[0], measured.at(-1)];
  if (least === undefined || most === undefined || least.size === most.size) return rows;
  const growth = most.stats.flatMap(([metric, value]): Row[] => {
    const before = least.stats.find(([name]) => name === metric)?.[1] ?? 0;
    if (before <= 0 || value <= 0) return [];
    const exponent = Math.log(value / before) / Math.log(most.size / least.size);
    return [rowMaker(`${kind}, growth ${least.size} → ${most.size}`)(metric, exponent, 'exponent')];
  });
  return [...rows, ...growth];
}

/** The middle value, the upper one of two; NaN of none. */
export function upperMedian(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
