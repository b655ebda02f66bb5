import type { CommandRequest } from '../../node/command.js';
import type { RouterBatch, RouterCursor } from './router-cursors.js';
import type { ShardCursor } from './shard-cursor.js';

/** A cursor whose result comes from one shard: batches are passed through unchanged. */
export class OneShardCursor implements RouterCursor {
  /** @param endsWith `shard`: it ends with the shard's cursor; `short batch`: only when a request exceeds the rest */
  constructor(
    readonly namespace: string,
    private readonly cursor: ShardCursor,
    private readonly endsWith: 'shard' | 'short batch',
  ) {}

  first(batchSize: number): RouterBatch {
    return this.#batch(batchSize);
  }

  async next(batchSize: number | undefined, request: CommandRequest): Promise<RouterBatch> {
    await this.cursor.fill(batchSize, request);
    return this.#batch(batchSize ?? Infinity);
  }

  async close(request: CommandRequest): Promise<void> {
    await this.cursor.close(request);
  }

  #batch(batchSize: number): RouterBatch {
    const documents = this.cursor.takeAll();
    const isFull = this.endsWith === 'short batch' && documents.length >= batchSize;
    return { documents, exhausted: this.cursor.drained && !isFull, time: this.cursor.time };
  }
}
