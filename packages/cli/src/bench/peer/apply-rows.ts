import { median, type Row, withGoal, rowMaker } from '../benchmark.js';
import { type RunUsage, secondsOf, cpuOf, peakMegabytes } from '../process-usage.js';
import { clusterSyncName } from './cluster-sync.js';
import { notVerifiedName } from './convoy-tool.js';
import type { Cost } from './cost.js';
import { memoryRow } from './memory-row.js';

/** Required multiple of ClusterSync's rate, and part of the bare limit. */
const ofPeerMin = 1.5;
const ofBareLimitMin = 0.8;
/** Allowed CPU time as a multiple of ClusterSync's. */
const cpuOfPeerMax = 1;

/** The runs of one backlog, in the order of the rounds. */
export interface BacklogCompared {
  /** Begins the name of each row's case. */
  name: string;
  /** Whether the goals for the rate and the CPU apply. */
  promisesSpeed: boolean;
  operations: number;
  bare: RunUsage[];
  /** By the name of the tool; one that was not there has none. */
  tools: ReadonlyMap<string, readonly Cost[]>;
}

/** The table of a backlog: medians of the rounds, and the highest peaks. */
export function applyRows({ name, promisesSpeed, operations, bare, tools }: BacklogCompared): Row[] {
  const rateOf = (results: readonly RunUsage[]): number => operations / median(results, secondsOf);
  const peer = tools.get(clusterSyncName) ?? [];
  const own = [...tools].filter(([tool, runs]) => tool !== clusterSyncName && runs.length > 0);
  return [
    rowMaker(`${name} bare limit`)('events', rateOf(bare), '1/s'),
    ...[...tools].flatMap(([tool, runs]) => (runs.length === 0 ? [] : costRows(`${name} ${tool}`, operations, runs))),
    ...own.flatMap(([tool, runs]) => {
      const measured = `${name} ${tool}`;
      const ofBare = ratio(measured, 'rate of bare limit', rateOf(runs) / rateOf(bare));
      const promised = promisesSpeed && tool === notVerifiedName;
      return [
        promised ? withGoal(ofBare, '>=', ofBareLimitMin) : ofBare,
        ...ofPeer(measured, runs, peer, promised),
        memoryRow(measured, runs),
      ];
    }),
  ];
}

function ratio(measured: string, metric: string, value: number): Row {
  return rowMaker(measured)(metric, value, '×');
}

function ofPeer(measured: string, runs: readonly Cost[], peer: readonly Cost[], promised: boolean): Row[] {
  if (peer.length === 0) return [];
  const rate = ratio(measured, `rate of ${clusterSyncName}`, median(peer, secondsOf) / median(runs, secondsOf));
  const cpu = ratio(measured, `CPU of ${clusterSyncName}`, median(runs, cpuOf) / median(peer, cpuOf));
  return promised ? [withGoal(rate, '>=', ofPeerMin), withGoal(cpu, '<=', cpuOfPeerMax)] : [rate, cpu];
}

function costRows(measured: string, operations: number, runs: readonly Cost[]): Row[] {
  const row = rowMaker(measured);
  const perMillion = (valueOf: (cost: Cost) => number): number => (median(runs, valueOf) / operations) * 1e6;
  return [
    row('time', median(runs, secondsOf), 's'),
    row('events', operations / median(runs, secondsOf), '1/s'),
    row('CPU per million events', perMillion(cpuOf), 's'),
    row(
      'CPU of source per million events',
      perMillion(({ sourceCpu_seconds }) => sourceCpu_seconds),
      's',
    ),
    row(
      'CPU of destination per million events',
      perMillion(({ destinationCpu_seconds }) => destinationCpu_seconds),
      's',
    ),
    row('peak memory', peakMegabytes(runs), 'MB'),
  ];
}
