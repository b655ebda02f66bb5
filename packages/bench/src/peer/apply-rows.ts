import { median, type Row, withGoal, rowMaker } from '../benchmark.js';
import { type RunUsage, secondsOf, cpuOf, peakMegabytes } from '../process-usage.js';
import { clusterSyncName } from './cluster-sync.js';
import { notVerifiedName, verifiedName } from './convoy-tool.js';
import type { Cost } from './cost.js';
import { memoryRow } from './memory-row.js';

/** What a way to run Convoy has to reach. */
interface ApplyGoals {
  /** Multiple of ClusterSync's rate. */
  ofPeerMin: number;
  /** Part of the bare limit; absent where none is promised. */
  ofBareLimitMin?: number;
  /** CPU time as a multiple of ClusterSync's. */
  cpuOfPeerMax: number;
}

const goals: Readonly<Record<string, ApplyGoals>> = {
  [notVerifiedName]: { ofPeerMin: 1.6, ofBareLimitMin: 0.75, cpuOfPeerMax: 0.7 },
  [verifiedName]: { ofPeerMin: 1.3, cpuOfPeerMax: 1.2 },
};

/** One backlog, from the resumption until all of it is applied. */
export interface ApplyRun extends Cost {
  /** From the resumption until every change is verified, too. */
  checked: Cost;
}

/** The runs of one backlog, in the order of the rounds. */
export interface BacklogCompared {
  /** Begins the name of each row's case. */
  name: string;
  operations: number;
  bare: RunUsage[];
  /** By the name of the tool; one that was not there has none. */
  tools: ReadonlyMap<string, readonly ApplyRun[]>;
}

/**
 * The table of a backlog: medians of the rounds, and the highest peaks. Rates are those of applying; CPU and memory
 * count until every change is verified.
 */
export function applyRows({ name, operations, bare, tools }: BacklogCompared): Row[] {
  const rateOf = (results: readonly RunUsage[]): number => operations / median(results, secondsOf);
  const peer = tools.get(clusterSyncName) ?? [];
  const own = [...tools].filter(([tool, runs]) => tool !== clusterSyncName && runs.length > 0);
  return [
    rowMaker(`${name} bare limit`)('events', rateOf(bare), '1/s'),
    ...[...tools].flatMap(([tool, runs]) => (runs.length === 0 ? [] : costRows(`${name} ${tool}`, operations, runs))),
    ...own.flatMap(([tool, runs]) => {
      const measured = `${name} ${tool}`;
      const ofBare = ratio(measured, 'rate of bare limit', rateOf(runs) / rateOf(bare));
      const { ofBareLimitMin } = goals[tool] ?? {};
      return [
        ofBareLimitMin === undefined ? ofBare : withGoal(ofBare, '>=', ofBareLimitMin),
        ...ofPeer(measured, runs, peer, goals[tool]),
        memoryRow(measured, checkedOf(runs)),
      ];
    }),
  ];
}

function ratio(measured: string, metric: string, value: number): Row {
  return rowMaker(measured)(metric, value, '×');
}

function ofPeer(
  measured: string,
  runs: readonly ApplyRun[],
  peer: readonly ApplyRun[],
  goal: ApplyGoals | undefined,
): Row[] {
  if (peer.length === 0) return [];
  const rate = ratio(measured, `rate of ${clusterSyncName}`, median(peer, secondsOf) / median(runs, secondsOf));
  const cpu = ratio(
    measured,
    `CPU of ${clusterSyncName}`,
    median(checkedOf(runs), cpuOf) / median(checkedOf(peer), cpuOf),
  );
  if (goal === undefined) return [rate, cpu];
  return [withGoal(rate, '>=', goal.ofPeerMin), withGoal(cpu, '<=', goal.cpuOfPeerMax)];
}

function costRows(measured: string, operations: number, runs: readonly ApplyRun[]): Row[] {
  const row = rowMaker(measured);
  const checked = checkedOf(runs);
  const perMillion = (valueOf: (cost: Cost) => number): number => (median(checked, valueOf) / operations) * 1e6;
  return [
    row('time', median(runs, secondsOf), 's'),
    row('time until verified', median(checked, secondsOf), 's'),
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
    row('peak memory', peakMegabytes(checked), 'MB'),
  ];
}

/** What is counted until every change is verified: the work is the same, whenever it is done. */
const checkedOf = (runs: readonly ApplyRun[]): Cost[] => runs.map(({ checked }) => checked);
