import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { MigrationRecords } from '../store/migration-record.js';
import type { TaskRecords } from '../store/task-record.js';

const poll_ms = 200;

/**
 * Asks the processes of a migration whether they are running, through the record that all of them read once a second.
 * @param answerWithin_ms how long an answer may take
 * @returns the sync tasks whose process has answered, as soon as any has; none after the time
 */
export async function checkMembers(
  records: MigrationRecords,
  tasks: TaskRecords,
  answerWithin_ms: number,
  signal: AbortSignal,
): Promise<string[]> {
  const call = randomUUID();
  await records.checkMembers(call, signal);
  const end_ms = performance.now() + answerWithin_ms;
  for (;;) {
    const present = (await tasks.readAll(signal)).filter((task) => task.present === call).map(({ _id }) => _id);
    if (present.length > 0 || performance.now() > end_ms) return present;
    await wait(poll_ms, undefined, { signal });
  }
}
