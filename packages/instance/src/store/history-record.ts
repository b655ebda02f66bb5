import { historySchema, type History } from '@convoy/api/contract/history';
import type { Metadata } from './metadata.js';

const recordId = 'history';

/** A history as it was read or written last. */
export interface StoredHistory {
  history: History;
  /** Counts the writes, so that a process which comes back late does not put back an earlier course. */
  revision: number;
}

/** The one document of the collection `history`: the bounded course of the migration. It decides about nothing. */
export class HistoryRecord {
  constructor(private readonly metadata: Metadata) {}

  /** Null when there is none, or none that this release can read. */
  async read(signal: AbortSignal): Promise<StoredHistory | null> {
    const stored = await this.metadata.findOne('history', { _id: recordId }, signal);
    const history = historySchema.safeParse(stored?.history).data;
    return stored === null || history === undefined ? null : { history, revision: Number(stored.revision) };
  }

  /** Begins a history, where there is none yet. Only while the migration goes on: what was cleaned up does not come back. */
  async begin(history: History, signal: AbortSignal): Promise<void> {
    await this.metadata.updateOne('history', { _id: recordId }, { $setOnInsert: { history, revision: 1 } }, signal, {
      upsert: true,
    });
  }

  /** Puts the next course in the place of the one that was read. Returns false when another process has written since, or it is gone. */
  replace(history: History, revision: number, signal: AbortSignal): Promise<boolean> {
    return this.metadata.updateOne(
      'history',
      { _id: recordId, revision },
      { $set: { history, revision: revision + 1 } },
      signal,
    );
  }
}
