import type { CommandRequest } from '../../node/command.js';
import type { Batch, RouterCursor } from './router-cursors.js';
import type { ShardCursor } from './shard-cursor.js';

/** A cursor whose result comes from one shard: batches are handed through as they are. */
export class OneShardCursor implements RouterCursor {
  constructor(
    readonly namespace: string,
    private readonly cursor: ShardCursor,
  ) {}

  get awaitsData(): true | undefined {
    return this.cursor.awaitsData ? true : undefined;
  }

  first(): Batch {
    const documents = this.cursor.takeAll();
    return { documents, exhausted: this.cursor.drained, time: this.cursor.time };
  }

  async next(batchSize: number | undefined, request: CommandRequest): Promise<Batch> {
    await this.cursor.fill(batchSize, request);
    const documents = this.cursor.takeAll();
    return { documents, exhausted: this.cursor.drained, time: this.cursor.time };
  }

  async close(request: CommandRequest): Promise<void> {
    await this.cursor.close(request);
  }
}
