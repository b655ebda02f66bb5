import type { RawBatch, RawCursor } from './node-client.js';

/** The batches of a cursor up to its end. It closes the cursor in any case, also when the reader stops before. */
export async function* batchesOf(cursor: RawCursor, signal: AbortSignal): AsyncGenerator<RawBatch, void> {
  try {
    for (let batch = cursor.first; ; batch = await cursor.next({ signal })) {
      yield batch;
      if (!cursor.open) return;
    }
  } finally {
    await cursor.close();
  }
}
