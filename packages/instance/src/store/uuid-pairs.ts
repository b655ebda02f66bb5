import type { Metadata } from './metadata.js';
import { refusingStale } from './refusing-stale.js';

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

  private constructor(
    private readonly metadata: Pick<Metadata, 'upsertEach'>,
    private readonly leaderEpoch: number,
    stored: Iterable<[string, string]>,
  ) {
    this.#destinationUuids = new Map(stored);
    this.#recorded = new Set(this.#destinationUuids.values());
  }

  static async read(
    metadata: Pick<Metadata, 'find' | 'upsertEach'>,
    leaderEpoch: number,
    signal: AbortSignal,
  ): Promise<UuidPairs> {
    const stored = await metadata.find('uuids', {}, signal);
    return new UuidPairs(
      metadata,
      leaderEpoch,
      stored.map((pair) => [String(pair._id), String(pair.destinationUuid)]),
    );
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
    const statements = pairs.map(({ sourceUuid, destinationUuid }) => {
      const q = { _id: sourceUuid, epoch: { $lte: this.leaderEpoch } };
      return { q, u: { _id: sourceUuid, epoch: this.leaderEpoch, destinationUuid } };
    });
    await refusingStale(() => this.metadata.upsertEach('uuids', statements, signal));
    for (const { sourceUuid, destinationUuid } of pairs) {
      this.#destinationUuids.set(sourceUuid, destinationUuid);
      this.#recorded.add(destinationUuid);
    }
  }
}
