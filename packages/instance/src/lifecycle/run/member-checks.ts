import type { Clock } from '../../cluster/clock.js';
import type { MigrationWatch } from '../migration/migration-watch.js';
import type { OwnTasks } from './own-tasks.js';

/** Delay before a failed answer is given again: a cleanup takes a silent process for gone. */
const answerAgain_ms = 500;

/** Shows a cleanup, which asks through the migration's record, that this process is at work; until the signal. */
export async function answerMemberChecks(
  watch: MigrationWatch,
  own: OwnTasks,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  for (let answered: string | undefined; !signal.aborted;) {
    const view = await watch.until(({ record }) => record.memberCheck !== answered, signal).catch(() => null);
    if (view === null) return;
    const called = view.record.memberCheck;
    try {
      await own.set({ present: called ?? '' }, signal);
      answered = called;
    } catch {
      await clock.sleep(answerAgain_ms, signal).catch(() => undefined);
    }
  }
}
