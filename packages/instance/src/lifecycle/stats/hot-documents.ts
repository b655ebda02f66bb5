import { type HotDocument, hottest } from '@convoy/api/contract/hot-documents';
import { storedValue } from '../../bson/sent-value.js';
import type { StoredHotDocument } from '../../store/task-record.js';
import type { TaskStats } from './task-stats.js';

/** The hot documents of an instance's tasks without their `_id`s, which may be anything; null while no task runs. */
export function hotDocumentsOf(stats: readonly TaskStats[]): HotDocument[] | null {
  if (stats.length === 0) return null;
  return hottest(stats.map(({ hotDocuments = [] }) => hotDocuments)).map(
    ({ namespace, document, changesPerSecond, workerPercent, appliedBy }) => ({
      namespace,
      document,
      changesPerSecond,
      workerPercent,
      appliedBy,
    }),
  );
}

/** The hot documents of a task with their `_id`s, for its record. */
export function storedHotDocuments({ hotDocuments = [] }: TaskStats): StoredHotDocument[] {
  return hotDocuments.map(({ id, ...reported }) => ({ ...reported, id: id === null ? null : storedValue(id) }));
}
