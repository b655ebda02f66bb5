import { BSON, type Document, MaxKey, Long, Timestamp } from 'mongodb';
import type { Clock } from '../../../src/async/clock.js';
import type {
  CallOptions,
  ClusterClient,
  NodeClient,
  RawBatch,
  RawCursor,
  WriteOutcome,
} from '../../../src/cluster/node-client.js';
import { fakeCluster } from '../fake-node-client.js';

/** Thrown in place of the process's end. */
export class Killed extends Error {
  override readonly name = 'Killed';
}

export interface LivePairOptions {
  /** From 0 to 1, the same for one seed. */
  random: () => number;
  /** Documents at the start, with the integers from 0 as `_id`. */
  documents: number;
  /** Writes to the source per millisecond, until a time. */
  writesPerMs: number;
  writesEnd_ms: number;
  /** `_id`s below this are written. */
  writtenBelow: number;
  /** Maximum delay of a write on the destination; in the order of the source. */
  lag_ms: number;
  /** Maximum documents of one batch. */
  batchMax: number;
}

/**
 * Two clusters with one collection each, in time that only calls advance: users write to the source, and the
 * destination gets their writes later, in order.
 */
export class LivePair {
  readonly clock: Clock;
  readonly source: ClusterClient;
  readonly destination: ClusterClient;
  readonly wanted: (number | undefined)[];
  readonly found: (number | undefined)[];
  /** Documents read in order, both sides together. */
  documentsRead = 0;
  /** After this many calls the process ends; then anew. */
  callsLeft = Infinity;
  #now_ms = 0;
  #written_ms = 0;
  readonly #late: { due_ms: number; id: number; value: number | undefined }[] = [];

  constructor(readonly options: LivePairOptions) {
    this.wanted = Array.from({ length: options.documents }, () => 0);
    this.found = [...this.wanted];
    this.clock = {
      now_ms: () => this.#now_ms,
      monotonic_ms: () => this.#now_ms,
      random: options.random,
      sleep: (duration_ms) => {
        this.#pass(duration_ms);
        return Promise.resolve();
      },
    };
    this.source = fakeCluster({ router: new LiveClient('source', this, this.wanted) });
    this.destination = fakeCluster({ router: new LiveClient('destination', this, this.found) });
  }

  /** A call takes its time, or never ends. */
  called(): void {
    this.callsLeft -= 1;
    if (this.callsLeft < 0) throw new Killed('killed');
    this.#pass(1 + Math.floor(this.options.random() * 5));
  }

  #pass(duration_ms: number): void {
    this.#now_ms += duration_ms;
    const { writesPerMs, writesEnd_ms, writtenBelow, lag_ms, random } = this.options;
    const until = Math.min(this.#now_ms, writesEnd_ms);
    for (; this.#written_ms < until; this.#written_ms += 1 / writesPerMs) {
      const id = Math.floor(random() * writtenBelow);
      const value = random() < 0.2 ? undefined : Math.floor(random() * 3);
      this.wanted[id] = value;
      const before = this.#late.at(-1)?.due_ms ?? 0;
      this.#late.push({ due_ms: Math.max(before, this.#written_ms + random() * lag_ms), id, value });
    }
    for (let next = this.#late[0]; next !== undefined && next.due_ms <= this.#now_ms; next = this.#late[0]) {
      this.found[next.id] = next.value;
      this.#late.shift();
    }
  }
}

class LiveClient implements NodeClient {
  constructor(
    readonly label: string,
    private readonly pair: LivePair,
    private readonly values: (number | undefined)[],
  ) {}

  async command(_database: string, _command: Document, { signal }: CallOptions): Promise<Document> {
    await Promise.resolve();
    signal.throwIfAborted();
    this.pair.called();
    return { ok: 1, operationTime: new Timestamp(Long.fromNumber(1)) };
  }

  async openCursor(_database: string, command: Document, { signal }: CallOptions): Promise<RawCursor> {
    await Promise.resolve();
    signal.throwIfAborted();
    this.pair.called();
    const { _id } = (command['filter'] as { _id?: { $in?: number[] } } | undefined) ?? {};
    if (_id instanceof MaxKey) return new LiveCursor(() => null, { batch: this.#batch([]), open: false });
    if (_id?.$in !== undefined) {
      const batch = this.#batch(_id.$in.map(Number));
      return new LiveCursor(() => null, { batch, open: false });
    }
    const bound = (side: 'min' | 'max') => (command[side] as { _id: number } | undefined)?._id;
    let at = bound('min') ?? 0;
    const end = bound('max') ?? this.values.length;
    const next = () => {
      const ids = Array.from({ length: Math.min(this.pair.options.batchMax, end - at) }, (_, index) => at + index);
      at += ids.length;
      const batch = this.#batch(ids);
      this.pair.documentsRead += batch.documents.length;
      return { batch, open: at < end };
    };
    return new LiveCursor(() => {
      this.pair.called();
      return next();
    }, next());
  }

  write(): Promise<WriteOutcome> {
    return Promise.reject(new Error('a comparison writes nothing'));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #batch(ids: readonly number[]): RawBatch {
    const documents = ids.flatMap((_id) =>
      this.values[_id] === undefined ? [] : [BSON.serialize({ _id, value: this.values[_id] })],
    );
    return { documents, bytes: documents.reduce((sum, { length }) => sum + length, 0) };
  }
}

interface Step {
  batch: RawBatch;
  open: boolean;
}

class LiveCursor implements RawCursor {
  readonly first: RawBatch;
  open: boolean;

  constructor(
    private readonly step: () => Step | null,
    { batch, open }: Step,
  ) {
    this.first = batch;
    this.open = open;
  }

  async next({ signal }: CallOptions): Promise<RawBatch> {
    await Promise.resolve();
    signal.throwIfAborted();
    const step = this.step();
    this.open = step?.open ?? false;
    return step?.batch ?? { documents: [], bytes: 0 };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
