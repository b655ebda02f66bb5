import { steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import { blockedBy, type OwnBlocker } from '@convoy/api/contract/commit-blocker';
import { nameSome } from '../../catalog/name-some.js';
import type { TaskStats } from './task-stats.js';

/**
 * Limit that withdraws an offered commit. It is higher than the limit of the offer: otherwise a lag that swings around
 * that limit would change the offer every second.
 */
export const offeredLagMax_seconds = 2 * steadyLagMax_seconds;

/** The stats of a task that decide whether it is ready. */
export type JudgedStats = Pick<TaskStats, 'copyDone' | 'copying' | 'followsStream' | 'lag_seconds'>;

/**
 * Judges whether the own tasks are ready to commit: copied, following their streams, near the source. Ready tasks stay
 * so until the lag exceeds the higher limit.
 */
export class CommitReadiness {
  #offered = false;

  /**
   * @param tasks how many tasks have to be ready
   * @returns what is missing; empty when they are ready
   */
  judge(stats: readonly JudgedStats[], tasks: number): readonly OwnBlocker[] {
    const missing = missingOf(stats, tasks, this.#offered ? offeredLagMax_seconds : steadyLagMax_seconds);
    this.#offered = missing.length === 0;
    return missing;
  }

  /** Withdraws the offer. */
  withdraw(): void {
    this.#offered = false;
  }
}

function missingOf(stats: readonly JudgedStats[], tasks: number, lagMax_seconds: number): OwnBlocker[] {
  const missing: OwnBlocker[] = [];
  if (stats.length !== tasks) missing.push(blockedBy('notStarted', 'its work has not begun yet'));
  if (stats.some(({ copyDone }) => !copyDone)) missing.push(blockedBy('copying', copyingText(stats)));
  if (stats.some(({ followsStream }) => !followsStream))
    missing.push(blockedBy('streamSilent', 'the change stream has not answered yet'));
  const lag_seconds = Math.max(0, ...stats.map((one) => one.lag_seconds));
  if (lag_seconds > lagMax_seconds) {
    const description = `changes are ${String(lag_seconds)} s behind (limit ${String(lagMax_seconds)} s)`;
    missing.push(blockedBy('lag', description, { value: lag_seconds, limit: lagMax_seconds }));
  }
  return missing;
}

/** Also names the collections, for example those that somebody replaces again and again. */
function copyingText(stats: readonly JudgedStats[]): string {
  const names = new Set(stats.flatMap(({ copying = [] }) => copying));
  return `collections are still being copied${names.size === 0 ? '' : `: ${nameSome([...names].sort())}`}`;
}
