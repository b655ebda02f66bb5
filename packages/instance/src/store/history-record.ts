import { historySchema, type History } from '@convoy/api/contract/history';
import type { Metadata } from './metadata.js';

const recordId = 'history';

/** A history as last read or written. */
export interface StoredHistory {
  history: History;
  /** Counts the writes, so that a former leader does not overwrite the history of the present one. */
  revision: number;
}

/**
 * The one document of the collection `history`, which the leader writes and the dashboard shows. The folder `history`
 * bounds its points and entries. No decision depends on it.
 */
export class HistoryRecord {
  constructor(private readonly metadata: Metadata) {}

  /** Null when there is none that this release can read. */
  async read(signal: AbortSignal): Promise<StoredHistory | null> {
    const stored = await this.metadata.findOne('history', { _id: recordId }, signal);
    const history = historySchema.safeParse(stored?.history).data;
    return stored === null || history === undefined ? null : { history, revision: Number(stored.revision) };
  }

  /**
   * Creates the history unless there is one. Call it only while the migration runs: an instance that still runs after
   * `convoy cleanup` must not bring the removed collection back.
   */
  async begin(history: History, signal: AbortSignal): Promise<void> {
    await this.metadata.updateOne('history', { _id: recordId }, { $setOnInsert: { history, revision: 1 } }, signal, {
      upsert: true,
    });
  }

  /**
   * Replaces the history.
   * @param revision that of the last read or write
   * @returns false when another process has written since, or when the history is gone
   */
  replace(history: History, revision: number, signal: AbortSignal): Promise<boolean> {
    return this.metadata.updateOne(
      'history',
      { _id: recordId, revision },
      { $set: { history, revision: revision + 1 } },
      signal,
    );
  }
}
