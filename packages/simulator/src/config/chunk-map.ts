import { MaxKey, ObjectId, Timestamp } from 'bson';
import { compareTimestamps } from '../bson/compare.js';
import { documentText } from '../bson/text.js';
import { CommandError } from '../node/command.js';
import { compareKeys, type KeyValues, type ShardKeyPattern } from './shard-key.js';

export interface ChunkOwner {
  readonly shard: string;
  /** From this cluster time on. */
  readonly validAfter: Timestamp;
}

export interface Chunk {
  readonly id: ObjectId;
  readonly min: KeyValues;
  readonly max: KeyValues;
  readonly shard: string;
  /** Version: major in the seconds, minor in the increment, as `config.chunks.lastmod` stores it. */
  readonly version: Timestamp;
  /** Set when the chunk was too large to move. */
  readonly jumbo?: boolean;
  /** Part of a split chunk, of which 8.0 notes that it is not `jumbo`. */
  readonly isSplit?: boolean;
  /** Owners, newest first. */
  readonly history: readonly ChunkOwner[];
}

/** The chunks of one collection in the order of their bounds, without gaps from MinKey to MaxKey. Immutable. */
export class ChunkMap {
  /** Ids of the shards that own chunks, sorted. */
  readonly shards: readonly string[];
  readonly #versions = new Map<string, Timestamp>();

  /** @param holdsMaxKey whether the last chunk holds a key of MaxKey alone, as since 8.0 (seen on 8.0.10) */
  constructor(
    readonly chunks: readonly Chunk[],
    private readonly holdsMaxKey = false,
  ) {
    this.shards = [...new Set(chunks.map((chunk) => chunk.shard))].sort();
  }

  /** The chunk that holds a key. */
  find(key: KeyValues): Chunk {
    const found = this.chunks[this.#indexOf(key)];
    if (found === undefined) throw new Error('a collection has at least one chunk');
    return found;
  }

  #indexOf(key: KeyValues): number {
    let low = 0;
    let high = this.chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const chunk = this.chunks[middle];
      if (chunk !== undefined && compareKeys(chunk.min, key) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * The shard of a key. Before 8.0 undefined for a key of MaxKey alone, because the bounds of the last chunk are
   * exclusive too.
   */
  holderOf(key: KeyValues): string | undefined {
    if (!this.holdsMaxKey && key.every((value) => value instanceof MaxKey)) return undefined;
    const only = this.shards.length === 1 ? this.shards[0] : undefined;
    return only ?? this.find(key).shard;
  }

  /** @throws CommandError 61 for a key that no chunk holds */
  ownerOf(
    key: KeyValues,
    { key: pattern, namespace }: { readonly key: ShardKeyPattern; readonly namespace: string },
  ): string {
    const holder = this.holderOf(key);
    if (holder !== undefined) return holder;
    throw new CommandError(
      61,
      'ShardKeyNotFound',
      `Cannot target single shard using key ${documentText(pattern.boundDocument(key))} for namespace ${namespace}`,
    );
  }

  /** Chunks that hold keys from `min` up to and including `max`. */
  touching(min: KeyValues, max: KeyValues): Chunk[] {
    const touched: Chunk[] = [];
    for (let at = this.#indexOf(min); at < this.chunks.length; at += 1) {
      const chunk = this.chunks[at];
      if (chunk === undefined || (touched.length > 0 && compareKeys(chunk.min, max) > 0)) break;
      touched.push(chunk);
    }
    return touched;
  }

  /** Highest version of any chunk, or of those of one shard. */
  version(shard?: string): Timestamp {
    const known = this.#versions.get(shard ?? '');
    if (known !== undefined) return known;
    let highest = new Timestamp({ t: 0, i: 0 });
    for (const chunk of this.chunks) {
      if (shard !== undefined && chunk.shard !== shard) continue;
      if (compareTimestamps(chunk.version, highest) > 0) highest = chunk.version;
    }
    this.#versions.set(shard ?? '', highest);
    return highest;
  }

  /** False when the shard received a chunk after this cluster time. */
  unmovedSince(shard: string, time: Timestamp): boolean {
    return this.chunks.every(
      (chunk) =>
        chunk.shard !== shard ||
        chunk.history.length < 2 ||
        compareTimestamps(chunk.history[0]?.validAfter ?? time, time) <= 0,
    );
  }

  /** Replaces the chunks with these ids by others. */
  replaced(ids: ReadonlySet<string>, chunks: readonly Chunk[]): ChunkMap {
    const kept = this.chunks.filter((chunk) => !ids.has(chunk.id.toHexString()));
    return new ChunkMap(
      [...kept, ...chunks].sort((a, b) => compareKeys(a.min, b.min)),
      this.holdsMaxKey,
    );
  }

  /** The owners at a cluster time. @throws CommandError 250 when a chunk's history does not reach back so far */
  at(time: Timestamp): ChunkMap {
    const owners = this.chunks.map((chunk) => ({
      chunk,
      owner: chunk.history.find((owner) => compareTimestamps(owner.validAfter, time) <= 0),
    }));
    if (owners.every(({ chunk, owner }) => owner?.shard === chunk.shard)) return this;
    return new ChunkMap(
      owners.map(({ chunk, owner }) => {
        if (owner !== undefined) return { ...chunk, shard: owner.shard };
        const shown = `Timestamp(${time.t}, ${time.i})`;
        throw new CommandError(
          250,
          'StaleChunkHistory',
          `Cannot find shardId the chunk belonged to at cluster time ${shown}`,
        );
      }),
      this.holdsMaxKey,
    );
  }
}
