import type { Document, Timestamp } from 'mongodb';
import { compareRaw } from '../../../src/bson/order.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import type { CallOptions, RawBatch, RawCursor } from '../../../src/cluster/node-client.js';
import { batchOf, type Network, serverError } from './calls.js';
import { tokenOf } from './change-events.js';
import { SourceClient } from './source-clients.js';
import { idOf, type OplogEntry, type SourceHistory } from './source-history.js';

/** The source's router, which takes no notes: one stream of all shards, reads of all shards in order of `_id`. */
export class SourceRouterClient extends SourceClient {
  readonly label = 'cluster0 router';
  protected readonly statesTime = true;

  command(_database: string, command: Document, { signal }: CallOptions): Promise<Document> {
    if (!('ping' in command)) throw new Error(`the model's router has no ${Object.keys(command)[0] ?? ''}`);
    return this.network.call(signal, () => ({ ok: 1, operationTime: timestampOf(this.source.now) }));
  }

  /** Shards that are asked to read after a time write an entry when they have not reached it. */
  override openCursor(database: string, command: Document, options: CallOptions): Promise<RawCursor> {
    const after = (command.readConcern as Document | undefined)?.afterClusterTime as Timestamp | undefined;
    if (after === undefined) return super.openCursor(database, command, options);
    return this.network.call(options.signal, () => {
      for (const shard of this.source.shards)
        if ((shard.oplog.at(-1)?.time ?? 0n) < after.toBigInt()) this.source.note(shard);
      return this.streamFrom(this.source.now);
    });
  }

  /** Which of two documents of one `_id` comes first is another with every reading. */
  protected readAt(time: bigint, uuid: string): Uint8Array[] {
    const shards = this.source.shards.map((shard) => shard.readAt(time, uuid));
    if (this.network.scheduler.chance(0.5)) shards.reverse();
    return shards.flat().sort((a, b) => compareRaw(idOf(a), idOf(b)));
  }

  /** BadValue: routers know no positions of records. */
  protected recordsAt(): never {
    throw serverError(2);
  }

  protected streamFrom(time: bigint): RawCursor {
    return new MergedCursor(this.source, this.network, time);
  }
}

/**
 * The streams of all shards merged by time. An event comes out only when every shard has been read up to its time; of
 * events of one time on several shards any may be the first.
 */
class MergedCursor implements RawCursor {
  readonly open = true;
  readonly first: RawBatch;
  /** How many entries of each shard have come out. */
  readonly #next: number[];
  #read: bigint;

  constructor(
    private readonly source: SourceHistory,
    private readonly network: Network,
    from: bigint,
  ) {
    this.#next = source.shards.map(({ oplog }) => {
      const index = oplog.findIndex(({ time }) => time >= from);
      return index < 0 ? oplog.length : index;
    });
    this.#read = from;
    this.first = batchOf([], { resumeToken: tokenOf(from) });
  }

  next({ signal }: CallOptions): Promise<RawBatch> {
    return this.network.call(signal, () => {
      if (this.network.scheduler.chance(this.network.faults.cursorLost)) throw serverError(43);
      return this.#batch();
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #batch(): RawBatch {
    const { scheduler } = this.network;
    const entries: OplogEntry[] = [];
    for (let wanted = scheduler.between(0, 6); wanted > 0; wanted -= 1) {
      const entry = this.#earliest();
      if (entry === null) break;
      entries.push(entry);
    }
    const last = entries.at(-1)?.time ?? this.#read;
    const following = this.#following() ?? this.#knownUpTo();
    if (last > this.#read) this.#read = last;
    if (following > this.#read && scheduler.chance(0.3)) this.#read = following;
    return batchOf(
      entries.flatMap(({ event }) => event ?? []),
      { resumeToken: tokenOf(this.#read), operationTime: timestampOf(this.source.now) },
    );
  }

  /** Takes the entry with the earliest time, if no shard can have an earlier one still. */
  #earliest(): OplogEntry | null {
    const time = this.#following();
    if (time === null) return null;
    const shards = [...this.source.shards.keys()].filter((shard) => this.#waiting(shard)?.time === time);
    const shard = shards[this.network.scheduler.between(0, shards.length - 1)] ?? 0;
    const entry = this.#waiting(shard) ?? null;
    this.#next[shard] = (this.#next[shard] ?? 0) + 1;
    return entry;
  }

  #waiting(shard: number): OplogEntry | undefined {
    return this.source.shards[shard]?.oplog[this.#next[shard] ?? 0];
  }

  #following(): bigint | null {
    const known = this.#knownUpTo();
    const times = [...this.source.shards.keys()].flatMap((shard) => this.#waiting(shard)?.time ?? []);
    const earliest = times.reduce<bigint | null>((a, b) => (a === null || b < a ? b : a), null);
    return earliest !== null && earliest <= known ? earliest : null;
  }

  /** The time up to which the slowest shard has shown everything. */
  #knownUpTo(): bigint {
    const latest = this.source.shards.map(({ oplog }) => oplog.at(-1)?.time ?? 0n);
    return latest.reduce((a, b) => (a < b ? a : b));
  }
}
