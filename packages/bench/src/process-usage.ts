import { readFileSync } from 'node:fs';

/** Linux counts CPU time in hundredths of a second (`getconf CLK_TCK`). */
const ticksPerSecond = 100;

/** Resources that processes have used since their start. */
export interface ProcessUsage {
  cpu_seconds: number;
  /** The highest resident memory of one of them. */
  peakMemoryBytes: number;
}

/** Cost of one run: its duration, and what its processes used in that time. */
export interface RunUsage extends ProcessUsage {
  seconds: number;
}

export const secondsOf = ({ seconds }: RunUsage): number => seconds;
export const cpuOf = ({ cpu_seconds }: ProcessUsage): number => cpu_seconds;

/** The highest memory of all runs. */
export function peakMegabytes(runs: readonly ProcessUsage[]): number {
  return Math.max(...runs.map(({ peakMemoryBytes }) => peakMemoryBytes)) / 1e6;
}

/**
 * CPU time of all processes together and the peak memory of the largest, from `/proc`. They must still run.
 * @throws Error on systems without `/proc`
 */
export function readUsage(pids: readonly number[]): ProcessUsage {
  const each = pids.map((pid) => ({ cpu: cpuSeconds(pid), memory: peakMemory(pid) }));
  return {
    cpu_seconds: each.reduce((sum, { cpu }) => sum + cpu, 0),
    peakMemoryBytes: Math.max(0, ...each.map(({ memory }) => memory)),
  };
}

function cpuSeconds(pid: number): number {
  // The second field is the program's name in brackets and may contain spaces; user and system time are fields 14 and
  // 15.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

function peakMemory(pid: number): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes ?? 0) * 1024;
}
