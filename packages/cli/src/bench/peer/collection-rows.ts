import { type Row, withGoal, rowMaker } from '../benchmark.js';
import { growthRows } from '../copy/growth-rows.js';
import { clusterSyncName } from './cluster-sync.js';
import type { CopyRun } from './copy-run.js';

/** Allowed time of a copy of the most collections, as a multiple of ClusterSync's. */
const ofPeerMax = 1;

/** Copies of the same documents in one number of collections. */
export interface CollectionsStep {
  count: number;
  /** Duration of the minimal commands for these collections. */
  bare_seconds: number;
  /** By the name of the tool; one that was not there has none. */
  tools: Map<string, CopyRun>;
}

/** Cost of one more collection with each tool, and the largest copy beside ClusterSync's. */
export function collectionRows(steps: readonly CollectionsStep[]): Row[] {
  const names = [...(steps[0]?.tools.keys() ?? [])];
  return names.flatMap((name) => [...toolRows(name, steps), ...(name === clusterSyncName ? [] : ofPeer(name, steps))]);
}

function toolRows(name: string, steps: readonly CollectionsStep[]): Row[] {
  const growing = steps.flatMap(({ count, bare_seconds, tools }) => {
    const run = tools.get(name);
    return run === undefined ? [] : [{ count, bare_seconds, run }];
  });
  return growthRows('collection', growing).map((row) => ({ ...row, case: `${name}: ${row.case}` }));
}

function ofPeer(name: string, steps: readonly CollectionsStep[]): Row[] {
  const most = steps.at(-1);
  const [run, peer] = [most?.tools.get(name), most?.tools.get(clusterSyncName)];
  if (most === undefined || run === undefined || peer === undefined) return [];
  const row = (metric: string, value: number): Row =>
    rowMaker(`${name}: ${most.count} collections`)(metric, value, '×');
  return [
    withGoal(row(`time from start to copied of ${clusterSyncName}`, run.seconds / peer.seconds), '<=', ofPeerMax),
    row(`CPU of ${clusterSyncName}`, run.cpu_seconds / peer.cpu_seconds),
    row(`time from start to ready to commit of ${clusterSyncName}`, run.ready.seconds / peer.ready.seconds),
  ];
}
