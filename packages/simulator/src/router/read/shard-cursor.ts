import { Int32, Long, Timestamp } from 'bson';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { Doc, Value } from '../../bson/value.js';
import type { CommandRequest } from '../../node/command.js';
import { doc, docOrEmpty, textOrEmpty } from '../../node/doc-fields.js';
import { collectionOf } from '../../node/namespace.js';
import type { SendOptions, ShardSender } from '../target/shard-sender.js';

/** A router's part of a cursor of one shard: the documents it has fetched and those still on the shard. */
export class ShardCursor {
  #documents: Value[];
  #position = 0;
  #id: Long;
  readonly time: Timestamp | undefined;

  private constructor(
    private readonly sender: ShardSender,
    readonly shard: ClusterShard,
    private readonly namespace: string,
    private readonly options: SendOptions,
    cursor: Doc,
  ) {
    const batch = cursor.get('firstBatch');
    const time = cursor.get('atClusterTime');
    this.#documents = Array.isArray(batch) ? batch : [];
    this.#id = idOf(cursor);
    this.time = time instanceof Timestamp ? time : undefined;
  }

  /** Runs a command that creates a cursor. */
  static async open(
    sender: ShardSender,
    shard: ClusterShard,
    request: CommandRequest,
    body: Doc,
    options: SendOptions = {},
  ): Promise<ShardCursor> {
    const reply = await sender.run(shard, request, body, options);
    const cursor = docOrEmpty(reply.get('cursor'));
    return new ShardCursor(sender, shard, textOrEmpty(cursor.get('ns')), { ...options, picture: undefined }, cursor);
  }

  /** Runs the command on several shards. When one fails, the cursors of the others are closed. */
  static async openAll(
    sender: ShardSender,
    shards: readonly ClusterShard[],
    request: CommandRequest,
    body: Doc,
    options: SendOptions = {},
  ): Promise<ShardCursor[]> {
    const answers: PromiseSettledResult<ShardCursor>[] = [];
    // All shards are asked at once, whatever one of them answers.
    for (const shard of shards)
      answers.push(...(await Promise.allSettled([ShardCursor.open(sender, shard, request, body, options)])));
    const opened = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (failed === undefined) return opened;
    for (const cursor of opened) await cursor.close(request).catch(() => undefined);
    throw failed.reason;
  }

  /** The fetched documents, without a request to the shard. */
  takeAll(): Value[] {
    const documents = this.#position === 0 ? this.#documents : this.#documents.slice(this.#position);
    this.#documents = [];
    this.#position = 0;
    return documents;
  }

  /** The next fetched document. Undefined when the shard must be asked. */
  peek(): Value | undefined {
    return this.#documents[this.#position];
  }

  advance(): void {
    this.#position += 1;
  }

  get drained(): boolean {
    return this.#position >= this.#documents.length && this.#id.isZero();
  }

  get hasBuffered(): boolean {
    return this.#position < this.#documents.length;
  }

  /** Fetches the next batch from the shard once all documents are consumed. */
  async fill(batchSize: number | undefined, request: CommandRequest): Promise<void> {
    if (this.hasBuffered || this.#id.isZero()) return;
    const body = doc(['getMore', this.#id], ['collection', collectionOf(this.namespace)]);
    if (batchSize !== undefined) body.set('batchSize', new Int32(batchSize));
    const reply = await this.sender.run(this.shard, request, body, this.options);
    const cursor = docOrEmpty(reply.get('cursor'));
    const batch = cursor.get('nextBatch');
    this.#documents = Array.isArray(batch) ? batch : [];
    this.#position = 0;
    this.#id = idOf(cursor);
  }

  async close(request: CommandRequest): Promise<void> {
    this.#documents = [];
    if (this.#id.isZero()) return;
    const body = doc(['killCursors', collectionOf(this.namespace)], ['cursors', [this.#id]]);
    this.#id = Long.ZERO;
    if (this.shard.node.up) await this.sender.run(this.shard, request, body, this.options);
  }
}

function idOf(cursor: Doc): Long {
  const id = cursor.get('id');
  return id instanceof Long ? id : Long.ZERO;
}
