import type { CommandResult } from '@convoy/api/fleet/fleet';
import type { FleetSnapshot } from '../progress/members.js';

/**
 * The instances that can answer a command now. The others get it from the migration's record. Instances refuse a
 * commit, which is not recorded for others, while one of the fleet is silent or missing, and name it.
 */
export function answeringIds(ids: readonly string[], { reports }: Pick<FleetSnapshot, 'reports'>): readonly string[] {
  return ids.filter((id) => {
    const seen = reports.get(id);
    return seen?.fresh === true && (seen.report.state !== 'INITIALIZING' || seen.report.failure !== null);
  });
}

/**
 * Whether the instances that cannot answer need no message: the command is recorded for them, or others refused it,
 * and what these refused they should not carry out alone.
 */
export function needNoMessage(replies: ReadonlyMap<string, CommandResult>): boolean {
  const isRefused = [...replies.values()].some((reply) => !reply.success && reply.error !== 'commandTimedOut');
  return isRefused || recordedFor(replies) !== null;
}

/**
 * The instances for which an accepted command is recorded, because none of their replies has come; null when it is not
 * recorded, since no instance accepted it, or only one of an earlier release.
 */
export function recordedFor(results: ReadonlyMap<string, CommandResult>): readonly string[] | null {
  const named = [...results.values()].flatMap((result) => (result.success ? [result.waitingFor ?? null] : []));
  const lists = named.filter((one) => one !== null);
  if (lists.length === 0) return null;
  const hasReplied = (id: string): boolean => {
    const result = results.get(id);
    return result !== undefined && (result.success || result.error !== 'commandTimedOut');
  };
  return [...new Set(lists.flat())].filter((id) => !hasReplied(id)).sort();
}
