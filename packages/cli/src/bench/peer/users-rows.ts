import { median, type Row, withGoal, rowMaker } from '../benchmark.js';
import { clusterSyncName } from './cluster-sync.js';
import type { UsersResult } from './users-order.js';

export const nobodyName = 'alone';
/** Users are not slowed more than by ClusterSync. */
const latencyOfPeerMax = 1;
const rateOfPeerMin = 1;

/** What users saw, by the name of the tool beside them, in the order of the rounds. */
export type UsersCompared = Map<string, UsersResult[]>;

/**
 * The table of one phase: medians of the rounds, as multiples of those of users alone and beside ClusterSync.
 * @param alone users without a tool, where the phase has none of its own
 */
export function usersRows(phase: string, compared: UsersCompared, alone: readonly UsersResult[] = []): Row[] {
  const nobody = compared.get(nobodyName) ?? alone;
  const peer = compared.get(clusterSyncName) ?? [];
  return [...compared].flatMap(([tool, runs]) => {
    if (runs.length === 0) return [];
    const row = rowMaker(tool === nobodyName ? `users ${tool}` : `users during ${phase}, ${tool}`);
    const rows = measures.map(({ metric, valueOf, unit }) => row(metric, median(runs, valueOf), unit));
    if (tool === nobodyName) return rows;
    const ratios = measures.flatMap(({ metric, valueOf, relation }) => {
      const value = median(runs, valueOf);
      const ofAlone = nobody.length === 0 ? [] : [row(`${metric} of alone`, value / median(nobody, valueOf), '×')];
      if (tool === clusterSyncName || peer.length === 0) return ofAlone;
      const beside = row(`${metric} of ${clusterSyncName}`, value / median(peer, valueOf), '×');
      return [...ofAlone, withGoal(beside, relation, relation === '<=' ? latencyOfPeerMax : rateOfPeerMin)];
    });
    return [...rows, ...ratios];
  });
}

const measures = [
  { metric: 'p50', valueOf: ({ p50_ms }: UsersResult) => p50_ms, unit: 'ms', relation: '<=' },
  { metric: 'p99', valueOf: ({ p99_ms }: UsersResult) => p99_ms, unit: 'ms', relation: '<=' },
  {
    metric: 'rate',
    valueOf: ({ operations, seconds }: UsersResult) => operations / seconds,
    unit: '1/s',
    relation: '>=',
  },
] as const;
