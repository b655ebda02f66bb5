import type { Document } from 'mongodb';
import { UuidPairs } from '../../../src/store/ddl-journal.js';

const { signal } = new AbortController();

/** The pairs that are stored in a map from source to destination, which outlives the leader that adds to them. */
export function pairsIn(stored: Map<string, string>): Promise<UuidPairs> {
  const metadata = {
    find: () => Promise.resolve([...stored].map(([_id, destinationUuid]) => ({ _id, destinationUuid }))),
    upsertEach: (_collection: string, statements: readonly { u: Document }[]) => {
      for (const { u } of statements) stored.set(String(u._id), String(u.destinationUuid));
      return Promise.resolve();
    },
  };
  return UuidPairs.read(metadata, 1, signal);
}
