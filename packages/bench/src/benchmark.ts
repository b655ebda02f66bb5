import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';

/** One result. */
export interface Row {
  case: string;
  metric: string;
  value: number;
  unit: string;
  /** The goal for the value, for example `<= 300`. */
  goal?: string;
  met?: boolean;
}

export interface BenchmarkContext {
  folder: ScratchFolder;
  /** Size of the run: 1 as published, smaller is faster and less exact. */
  scale: number;
  /** Logs the current step. */
  log: (text: string) => void;
  signal: AbortSignal;
  /** Parts to run, of a benchmark that has some; all when left out. */
  parts?: ReadonlySet<string>;
}

export interface Benchmark {
  name: string;
  description: string;
  /** Names of its parts, in their order, where they can run alone. */
  parts?: readonly string[];
  /** Servers, instances and this process are separate, so an instance's results are its own. */
  run(context: BenchmarkContext): Promise<Row[]>;
}

/** Makes the rows of one case. */
export function rowMaker(subject: string): (metric: string, value: number, unit: string) => Row {
  return (metric, value, unit) => ({ case: subject, metric, value, unit });
}

/** The row with a goal and whether it is met. */
export function withGoal(row: Row, relation: '<=' | '>=', bound: number): Row {
  return { ...row, goal: `${relation} ${bound}`, met: relation === '<=' ? row.value <= bound : row.value >= bound };
}

/** The middle value, the lower one of two. */
export function median<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  const sorted = items.map(valueOf).sort((a, b) => a - b);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (middle === undefined) throw new RangeError('a median of no values');
  return middle;
}
