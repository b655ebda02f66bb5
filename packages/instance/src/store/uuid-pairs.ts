import type { Document } from 'mongodb';
import type { Metadata } from './metadata.js';
import { refusingStale } from './refusing-stale.js';
import { WriteOrder, type Written } from './write-order.js';

/** UUIDs of one collection on both clusters, each 32 hexadecimal digits. */
export interface UuidPair {
  sourceUuid: string;
  destinationUuid: string;
}

/**
 * Maps source collections to destination collections. DDL changes use these UUIDs, because a name may meanwhile belong
 * to a new collection.
 */
export class UuidPairs {
  readonly #destinationUuids: Map<string, string>;
  readonly #recorded: Set<string>;
  readonly #order: WriteOrder;

  private constructor(
    private readonly metadata: Pick<Metadata, 'upsertEach'>,
    private readonly leaderEpoch: number,
    stored: readonly Document[],
  ) {
    this.#destinationUuids = new Map(stored.map((pair) => [String(pair._id), String(pair.destinationUuid)]));
    const own = stored.flatMap(({ written }) => (written as Written | undefined) ?? []);
    const numbers = own.filter(({ epoch }) => epoch === leaderEpoch).map(({ number }) => number);
    this.#order = new WriteOrder(leaderEpoch, Math.max(0, ...numbers));
    this.#recorded = new Set(this.#destinationUuids.values());
  }

  static async read(
    metadata: Pick<Metadata, 'find' | 'upsertEach'>,
    leaderEpoch: number,
    signal: AbortSignal,
  ): Promise<UuidPairs> {
    return new UuidPairs(metadata, leaderEpoch, await metadata.find('uuids', {}, signal));
  }

  /** UUID on the destination; null when none is recorded. */
  destinationOf(sourceUuid: string): string | null {
    return this.#destinationUuids.get(sourceUuid) ?? null;
  }

  /** Whether a source collection is now mapped to this destination collection. */
  isMapped(destinationUuid: string): boolean {
    return [...this.#destinationUuids.values()].includes(destinationUuid);
  }

  /** Whether a source collection is or was mapped to this destination collection. */
  isRecorded(destinationUuid: string): boolean {
    return this.#recorded.has(destinationUuid);
  }

  /** @throws ConvoyError `staleEpoch` when a later leader has recorded one of them */
  async record(pairs: readonly UuidPair[], signal: AbortSignal): Promise<void> {
    const written = this.#order.next();
    const statements = pairs.map(({ sourceUuid, destinationUuid }) => {
      const q = { _id: sourceUuid, epoch: { $lte: this.leaderEpoch }, ...this.#order.upToNow() };
      return { q, u: { _id: sourceUuid, epoch: this.leaderEpoch, destinationUuid, written } };
    });
    await refusingStale(() => this.metadata.upsertEach('uuids', statements, signal));
    for (const { sourceUuid, destinationUuid } of pairs) {
      this.#destinationUuids.set(sourceUuid, destinationUuid);
      this.#recorded.add(destinationUuid);
    }
  }
}
