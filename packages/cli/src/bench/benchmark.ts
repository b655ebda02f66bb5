import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';

/** One figure. */
export interface Row {
  case: string;
  metric: string;
  value: number;
  unit: string;
  /** What the value should be, for example `<= 300`. */
  goal?: string;
  met?: boolean;
}

export interface BenchmarkContext {
  folder: ScratchFolder;
  /** Size of the run: 1 is the published one, smaller is quicker and less exact. */
  scale: number;
  /** Says what is being done. */
  log: (text: string) => void;
  signal: AbortSignal;
}

export interface Benchmark {
  name: string;
  description: string;
  /** Servers, instances and this process are separate: every figure of an instance is its own. */
  run(context: BenchmarkContext): Promise<Row[]>;
}

/** The same row with a goal and whether it is met. */
export function withGoal(row: Row, relation: '<=' | '>=', bound: number): Row {
  return { ...row, goal: `${relation} ${bound}`, met: relation === '<=' ? row.value <= bound : row.value >= bound };
}
