import type { ClusterClient, RawBatch, RawCursor } from '@convoy/instance/cluster/node-client';
import { rangesOf } from '../copy/loop-order.js';
import type { VerifyOrder } from './verify-order.js';

/** Documents per batch: about 1 MB, as in the verifier. */
const batchBytes = 2 ** 20;

/**
 * The minimal comparison: reads both sides in `_id` order, several ranges at once, prefetching the next batches while
 * it compares bytes. It has no state and does not analyse differences.
 * @returns number of documents that differ at the same position
 */
export async function bareComparison(
  source: ClusterClient,
  destination: ClusterClient,
  order: VerifyOrder,
): Promise<number> {
  const ranges = rangesOf(order.collection.documents, order.readers);
  const counts = await Promise.all(ranges.map((range) => compareRange(source, destination, range, order)));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function compareRange(
  source: ClusterClient,
  destination: ClusterClient,
  [min, max]: [number, number],
  { collection }: VerifyOrder,
): Promise<number> {
  const { signal } = new AbortController();
  const batchSize = Math.max(1, Math.floor(batchBytes / collection.documentBytes));
  const command = {
    find: collection.collection,
    hint: { _id: 1 },
    sort: { _id: 1 },
    min: { _id: min },
    max: { _id: max },
    batchSize,
    readConcern: { level: 'majority' },
  };
  const cursors = await Promise.all(
    [source, destination].map(({ router }) => router.openCursor(collection.database, command, { signal })),
  );
  const next = () => Promise.all(cursors.map((cursor) => nextOf(cursor, signal)));
  let batches = cursors.map(({ first }): RawBatch | null => first);
  let different = 0;
  while (batches.some((batch) => batch !== null)) {
    const ahead = next();
    different += compareBatches(batches);
    batches = await ahead;
  }
  return different;
}

async function nextOf(cursor: RawCursor, signal: AbortSignal): Promise<RawBatch | null> {
  return cursor.open ? cursor.next({ signal }) : null;
}

function compareBatches([here, there]: readonly (RawBatch | null)[]): number {
  const [a, b] = [here?.documents ?? [], there?.documents ?? []];
  let different = Math.abs(a.length - b.length);
  for (let position = 0; position < Math.min(a.length, b.length); position += 1) {
    if (Buffer.compare(a[position] ?? Buffer.alloc(0), b[position] ?? Buffer.alloc(0)) !== 0) different += 1;
  }
  return different;
}
