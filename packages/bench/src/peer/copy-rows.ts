import { median, type Row, withGoal, rowMaker } from '../benchmark.js';
import { clusterSyncName } from './cluster-sync.js';
import { notVerifiedName, verifiedName } from './convoy-tool.js';
import type { CopyRun } from './copy-run.js';
import type { Cost } from './cost.js';
import { memoryRow } from './memory-row.js';
import { cpuOf, secondsOf, peakMegabytes } from '../process-usage.js';

/** Required for documents of one size. */
export interface CopyGoals {
  /** Multiple of ClusterSync's rate, of a copy that is not verified and of one that is; absent where it cannot copy. */
  ofPeerMin?: { plain: number; verified: number };
  /** Part of the bare loop's rate, not verified; absent where none is promised. */
  ofBareLoopMin?: number;
}

/** Allowed part of ClusterSync's CPU time. */
const cpuOfPeerMax = 0.5;
/** Allowed time of a verified copy as a multiple of one that is not verified. */
const verifiedMax = 1.15;
/** Allowed time from the end of the copy until a commit would be accepted, in copy times. */
const readyMax = 0.35;

/** The copies of documents of one size, in the order of the rounds. */
export interface SizeCompared {
  /** For example `1 kB`. */
  name: string;
  bytes: number;
  goals: CopyGoals;
  bare: Cost[];
  /** By the name of the tool; one that was not there has none. */
  tools: ReadonlyMap<string, readonly CopyRun[]>;
}

/** The table of one size: medians of the rounds, the best bare loop, and the highest peaks. */
export function copyRows({ name, bytes, goals, bare, tools }: SizeCompared): Row[] {
  const fastest = bare.reduce((one, other) => (other.seconds < one.seconds ? other : one));
  const of = (tool: string): readonly CopyRun[] => tools.get(tool) ?? [];
  const [peer, plain, verified] = [of(clusterSyncName), of(notVerifiedName), of(verifiedName)];
  return [
    rowMaker(`${name} of each copy`)('data', bytes / 1e6, 'MB'),
    ...costRows(`${name} bare loop`, bytes, [fastest]),
    ...[...tools].flatMap(([tool, runs]) => toolRows(`${name} ${tool}`, bytes, runs)),
    ...(plain.length === 0 ? [] : plainRows(`${name} ${notVerifiedName}`, plain, peer, fastest, goals)),
    ...(verified.length === 0 ? [] : verifiedRows(`${name} ${verifiedName}`, verified, plain, peer, goals)),
    ...[plain, verified].flatMap((runs, index) =>
      runs.length === 0 ? [] : [memoryRow(`${name} ${index === 0 ? notVerifiedName : verifiedName}`, readyOf(runs))],
    ),
  ];
}

function toolRows(subject: string, bytes: number, runs: readonly CopyRun[]): Row[] {
  if (runs.length === 0) return [];
  const row = rowMaker(subject);
  return [
    ...costRows(subject, bytes, runs),
    row('initialisation', median(runs, initialisationOf), 's'),
    row('from copied to ready to commit', median(runs, waitOf), 's'),
    row('CPU until ready to commit', (median(readyOf(runs), cpuOf) / bytes) * 1e9, 's/GB'),
    row('CPU of source until ready to commit', (median(readyOf(runs), sourceCpuOf) / bytes) * 1e9, 's/GB'),
    row('CPU of destination until ready to commit', (median(readyOf(runs), destinationCpuOf) / bytes) * 1e9, 's/GB'),
  ];
}

function costRows(subject: string, bytes: number, runs: readonly Cost[]): Row[] {
  const row = rowMaker(subject);
  const perGigabyte = (valueOf: (cost: Cost) => number): number => (median(runs, valueOf) / bytes) * 1e9;
  return [
    row('copy', median(runs, secondsOf), 's'),
    row('throughput', bytes / 1e6 / median(runs, secondsOf), 'MB/s'),
    row('CPU', perGigabyte(cpuOf), 's/GB'),
    row('CPU of source', perGigabyte(sourceCpuOf), 's/GB'),
    row('CPU of destination', perGigabyte(destinationCpuOf), 's/GB'),
    row('peak memory after the copy', peakMegabytes(runs), 'MB'),
  ];
}

/** The bare loop starts with open connections and a given collection: the comparison with it is without the start. */
function plainRows(
  subject: string,
  plain: readonly CopyRun[],
  peer: readonly CopyRun[],
  bare: Cost,
  { ofPeerMin, ofBareLoopMin }: CopyGoals,
): Row[] {
  const copying = median(plain, (run) => run.seconds - initialisationOf(run));
  const ofBareLoop: Row = rowMaker(subject)(
    'throughput of bare loop, after initialisation',
    bare.seconds / copying,
    '×',
  );
  return [
    ofBareLoopMin === undefined ? ofBareLoop : withGoal(ofBareLoop, '>=', ofBareLoopMin),
    ...ofPeer(subject, plain, peer, ofPeerMin?.plain),
  ];
}

function verifiedRows(
  subject: string,
  verified: readonly CopyRun[],
  plain: readonly CopyRun[],
  peer: readonly CopyRun[],
  { ofPeerMin }: CopyGoals,
): Row[] {
  const row = (metric: string, value: number): Row => rowMaker(subject)(metric, value, '×');
  const ofPlain = plain.length === 0 ? NaN : median(verified, secondsOf) / median(plain, secondsOf);
  const wait = median(verified, (run) => waitOf(run) / run.seconds);
  return [
    ...(plain.length === 0 ? [] : [withGoal(row('copy time of not verified', ofPlain), '<=', verifiedMax)]),
    withGoal(row('from copied to ready to commit, in copy times', wait), '<=', readyMax),
    ...ofPeer(subject, verified, peer, ofPeerMin?.verified),
  ];
}

/** Throughput and CPU time as multiples of ClusterSync's, with their goals; none where it was not there. */
function ofPeer(subject: string, runs: readonly CopyRun[], peer: readonly CopyRun[], rateMin?: number): Row[] {
  if (peer.length === 0 || rateMin === undefined) return [];
  const row = (metric: string, value: number): Row => rowMaker(subject)(metric, value, '×');
  const rate = row(`throughput of ${clusterSyncName}`, median(peer, secondsOf) / median(runs, secondsOf));
  const cpu = row(`CPU of ${clusterSyncName}`, median(runs, cpuOf) / median(peer, cpuOf));
  return [withGoal(rate, '>=', rateMin), withGoal(cpu, '<=', cpuOfPeerMax)];
}

const sourceCpuOf = ({ sourceCpu_seconds }: Cost): number => sourceCpu_seconds;
const destinationCpuOf = ({ destinationCpu_seconds }: Cost): number => destinationCpu_seconds;
const initialisationOf = ({ initialisation }: CopyRun): number => initialisation.seconds;
const waitOf = ({ seconds, ready }: CopyRun): number => ready.seconds - seconds;
const readyOf = (runs: readonly CopyRun[]): Cost[] => runs.map(({ ready }) => ready);
