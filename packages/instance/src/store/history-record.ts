import { historySchema, type History } from '@convoy/api/contract/history';
import type { Metadata } from './metadata.js';

const recordId = 'history';

/** A history as last read or written. */
export interface StoredHistory {
  history: History;
  /** Counts the writes, so that a late process does not restore an earlier history. */
  revision: number;
}

/** The one document of the collection `history`: the bounded history of the migration. No decision depends on it. */
export class HistoryRecord {
  constructor(private readonly metadata: Metadata) {}

  /** Null when there is none that this release can read. */
  async read(signal: AbortSignal): Promise<StoredHistory | null> {
    const stored = await this.metadata.findOne('history', { _id: recordId }, signal);
    const history = historySchema.safeParse(stored?.history).data;
    return stored === null || history === undefined ? null : { history, revision: Number(stored.revision) };
  }

  /** Creates the history unless there is one. Only called while the migration runs: a cleanup removes it for good. */
  async begin(history: History, signal: AbortSignal): Promise<void> {
    await this.metadata.updateOne('history', { _id: recordId }, { $setOnInsert: { history, revision: 1 } }, signal, {
      upsert: true,
    });
  }

  /** Replaces the history that was read. Returns false when another process has written since, or when it is gone. */
  replace(history: History, revision: number, signal: AbortSignal): Promise<boolean> {
    return this.metadata.updateOne(
      'history',
      { _id: recordId, revision },
      { $set: { history, revision: revision + 1 } },
      signal,
    );
  }
}
