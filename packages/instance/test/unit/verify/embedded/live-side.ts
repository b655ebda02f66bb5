import { BSON, type Document, MaxKey } from 'mongodb';
import type { Clock } from '../../../../src/async/clock.js';
import { timeOf, timestampOf } from '../../../../src/cluster/cluster-time.js';
import type {
  CallOptions,
  NodeClient,
  RawBatch,
  RawCursor,
  WriteOutcome,
} from '../../../../src/cluster/node-client.js';

/** Where cluster times start. */
const begin_seconds = 1_000;

interface Event {
  readonly time: bigint;
  readonly id: number;
}

/** A cluster with one collection, whose `_id`s are the integers from 0, and with a change stream. */
export class LiveSide {
  readonly events: Event[] = [];
  /** Documents that were read in order. */
  documentsRead = 0;
  /** Documents that were looked up by key. */
  keysLookedUp = 0;
  #last = 0n;

  constructor(
    readonly name: string,
    readonly values: (number | undefined)[],
    readonly clock: Clock,
  ) {}

  /** The cluster's current time. */
  get present(): bigint {
    const started = BigInt(begin_seconds + Math.floor(this.clock.monotonic_ms() / 1_000)) << 32n;
    return started > this.#last ? started : this.#last;
  }

  /** A time after all others. */
  tick(): bigint {
    this.#last = this.present + 1n;
    return this.#last;
  }

  write(id: number, value: number | undefined): bigint {
    const time = this.tick();
    this.values[id] = value;
    this.events.push({ time, id });
    return time;
  }

  batchOf(ids: readonly number[]): RawBatch {
    const documents = ids.flatMap((_id) =>
      this.values[_id] === undefined ? [] : [BSON.serialize({ _id, value: this.values[_id] })],
    );
    return { documents, bytes: documents.reduce((sum, { length }) => sum + length, 0) };
  }
}

/** How a process reaches a side. */
export interface LiveWay {
  readonly side: LiveSide;
  readonly batchMax: number;
  /** Ends with the process: none of its calls is answered any more. */
  readonly signal: AbortSignal;
  /** Duration of a call. */
  call_ms(): number;
}

export class LiveClient implements NodeClient {
  constructor(private readonly way: LiveWay) {}

  get label(): string {
    return this.way.side.name;
  }

  async command(_database: string, _command: Document, { signal }: CallOptions): Promise<Document> {
    const { side } = this.way;
    await this.#called(signal);
    return { ok: 1, n: side.values.length, operationTime: timestampOf(side.present) };
  }

  async openCursor(_database: string, command: Document, { signal }: CallOptions): Promise<RawCursor> {
    const called = () => this.#called(signal);
    await called();
    if (command['aggregate'] !== undefined) return new LiveStream(this.way, command);
    const { _id } = (command['filter'] as { _id?: { $in?: number[] } } | undefined) ?? {};
    if (_id instanceof MaxKey)
      return {
        first: this.way.side.batchOf([]),
        open: false,
        next: () => Promise.reject(new Error('the cursor is used up')),
        close,
      };
    if (_id?.$in === undefined) return new LiveRange(this.way, command, called);
    this.way.side.keysLookedUp += _id.$in.length;
    return {
      first: this.way.side.batchOf(_id.$in.map(Number)),
      open: false,
      next: () => Promise.reject(new Error('the cursor is used up')),
      close,
    };
  }

  write(): Promise<WriteOutcome> {
    return Promise.reject(new Error('a verifier writes nothing to the clusters'));
  }

  close(): Promise<void> {
    return close();
  }

  async #called(signal: AbortSignal): Promise<void> {
    this.way.signal.throwIfAborted();
    await this.way.side.clock.sleep(this.way.call_ms(), AbortSignal.any([signal, this.way.signal]));
  }
}

function close(): Promise<void> {
  return Promise.resolve();
}

class LiveRange implements RawCursor {
  readonly first: RawBatch;
  readonly close = close;
  #at: number;
  readonly #end: number;

  constructor(
    private readonly way: LiveWay,
    command: Document,
    private readonly called: () => Promise<void>,
  ) {
    const bound = (side: 'min' | 'max') => (command[side] as { _id: number } | undefined)?._id;
    this.#at = bound('min') ?? 0;
    this.#end = bound('max') ?? way.side.values.length;
    this.first = this.#take();
  }

  get open(): boolean {
    return this.#at < this.#end;
  }

  async next(): Promise<RawBatch> {
    await this.called();
    return this.#take();
  }

  #take(): RawBatch {
    const { side, batchMax } = this.way;
    const ids = Array.from({ length: Math.min(batchMax, this.#end - this.#at) }, (_, index) => this.#at + index);
    this.#at += ids.length;
    const batch = side.batchOf(ids);
    side.documentsRead += batch.documents.length;
    return batch;
  }
}

class LiveStream implements RawCursor {
  readonly open = true;
  readonly close = close;
  readonly first: RawBatch;
  #at: number;

  constructor(
    private readonly way: LiveWay,
    command: Document,
  ) {
    const [stage] = command['pipeline'] as { $changeStream: { startAtOperationTime: BSON.Timestamp } }[];
    const start = stage === undefined ? 0n : timeOf(stage.$changeStream.startAtOperationTime);
    const { events } = way.side;
    const found = events.findIndex(({ time }) => time >= start);
    this.#at = found === -1 ? events.length : found;
    this.first = { documents: [], bytes: 0, ...placeOf(start) };
  }

  async next({ signal, maxTime_ms = 0 }: CallOptions): Promise<RawBatch> {
    const { side, batchMax } = this.way;
    await side.clock.sleep(side.clock.random() * maxTime_ms, AbortSignal.any([signal, this.way.signal]));
    const events = side.events.slice(this.#at, this.#at + batchMax);
    this.#at += events.length;
    const isAtEnd = this.#at === side.events.length;
    const documents = events.map(({ id, time }) =>
      BSON.serialize({
        operationType: 'update',
        ns: { db: 'db', coll: 'coll' },
        documentKey: { _id: id },
        clusterTime: timestampOf(time),
      }),
    );
    const operationTime = timestampOf(side.present);
    return { documents, bytes: 1, ...placeOf(isAtEnd ? side.present : (events.at(-1)?.time ?? 0n)), operationTime };
  }
}

function placeOf(time: bigint): Pick<RawBatch, 'resumeToken'> {
  return { resumeToken: `82${time.toString(16).padStart(16, '0')}` };
}
