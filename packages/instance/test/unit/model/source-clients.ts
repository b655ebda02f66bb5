import { Binary, BSON, type Document, ObjectId, Timestamp } from 'mongodb';
import { idClass } from '../../../src/bson/id.js';
import { encodeValue } from '../../../src/bson/scan.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import type { CallOptions, NodeClient, RawBatch, RawCursor, WriteOutcome } from '../../../src/cluster/node-client.js';
import { isInRange } from '../id-range.js';
import { type About, batchOf, type Network, serverError } from './calls.js';
import { tokenOf } from './change-events.js';
import { idOf, type SourceHistory, type SourceShard } from './source-history.js';

/** What a process is doing with keys on the destination while it reads the source. */
export interface ReadWitness {
  /** Called with the id classes of a collection that a re-read reads at one time. */
  onReread(uuid: string, idClasses: readonly string[]): void;
}

/** A client of source documents: a stream, snapshot reads and samples. */
export abstract class SourceClient implements NodeClient {
  abstract readonly label: string;

  constructor(
    protected readonly source: SourceHistory,
    protected readonly network: Network,
    private readonly witness: ReadWitness,
  ) {}

  abstract command(database: string, command: Document, options: CallOptions): Promise<Document>;
  /** The documents of a time in order of `_id`. */
  protected abstract readAt(time: bigint, uuid: string): Uint8Array[];
  /** The documents of a time after a record, in record order, and what each batch says of its position. */
  protected abstract recordsAt(
    time: bigint,
    uuid: string,
    after: Document | undefined,
  ): { documents: Uint8Array[]; about: About };
  protected abstract streamFrom(time: bigint): RawCursor;
  /** Whether answers about a missing collection name the time of the read anyway, as those of routers do. */
  protected abstract readonly statesTime: boolean;

  openCursor(_database: string, command: Document, { signal }: CallOptions): Promise<RawCursor> {
    const first = (command.pipeline as Document[] | undefined)?.[0] ?? {};
    if ('$changeStream' in first) return this.#stream(first.$changeStream as Document, signal);
    if ('$sample' in first)
      return this.network.cursor(signal, () => ({
        documents: this.#sample(String(command.aggregate), Number((first.$sample as Document).size)),
        about: () => ({}),
      }));
    if ('listCollections' in command)
      return this.network.cursor(signal, () => ({
        documents: this.#listed((command.filter as { name: string }).name),
        about: () => ({}),
      }));
    return this.network.cursor(signal, () => this.#find(command));
  }

  write(): Promise<WriteOutcome> {
    return Promise.reject(new Error('nothing is written to the source'));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #stream(stage: Document, signal: AbortSignal): Promise<RawCursor> {
    const from = (stage.startAtOperationTime as Timestamp).toBigInt();
    return this.network.call(signal, () => this.streamFrom(from));
  }

  #sample(name: string, size: number): Uint8Array[] {
    const uuid = this.source.catalog.at(name);
    const ids = (uuid === null ? [] : this.readAt(this.source.now, uuid)).map((document) => ({ _id: idOf(document) }));
    if (ids.length === 0) return [];
    return Array.from({ length: size }, () => {
      const { _id } = ids[this.network.scheduler.between(0, ids.length - 1)] ?? { _id: encodeValue(0) };
      return BSON.serialize(new Map([['_id', decoded(_id)]]));
    });
  }

  #listed(name: string): Uint8Array[] {
    const uuid = this.source.catalog.at(name);
    if (uuid === null) return [];
    return [
      BSON.serialize({
        name,
        type: 'collection',
        options: {},
        info: { uuid: new Binary(Buffer.from(uuid, 'hex'), Binary.SUBTYPE_UUID) },
      }),
    ];
  }

  /**
   * A missing collection answers nothing, on shards without a time. A collection that was renamed since cannot be read
   * before.
   */
  #find(command: Document): { documents: Uint8Array[]; about: About } {
    const { catalog, now } = this.source;
    const wanted = (command.readConcern as Document).atClusterTime as Timestamp | undefined;
    const at = wanted?.toBigInt() ?? now;
    if (at > now) throw new Error('a read in the future');
    if (this.network.scheduler.chance(this.network.faults.snapshotTooOld)) throw serverError(246);
    const uuid = collectionOf(command, this.source);
    if (uuid === null)
      return {
        documents: [],
        about: () =>
          this.statesTime ? { atClusterTime: timestampOf(at), operationTime: timestampOf(this.source.now) } : {},
      };
    const opened = catalog.changedAt(uuid);
    if (at < opened) throw serverError(246);
    const about = (): Partial<RawBatch> => {
      if (catalog.changedAt(uuid) !== opened) throw serverError(175);
      return { atClusterTime: timestampOf(at), operationTime: timestampOf(this.source.now) };
    };
    if (command.$_requestResumeToken === true) {
      const scan = this.recordsAt(at, uuid, command.$_resumeAfter as Document | undefined);
      return { documents: scan.documents, about: (batch) => ({ ...about(), ...scan.about(batch) }) };
    }
    return { documents: this.#selected(command, uuid, this.readAt(at, uuid)), about };
  }

  #selected(command: Document, uuid: string, documents: Uint8Array[]): Uint8Array[] {
    const among = (command.filter as { _id: { $in?: unknown[] } } | undefined)?._id.$in;
    if (among !== undefined) {
      const classes = among.map((id) => idClass(encodeValue(id), false));
      this.witness.onReread(uuid, classes);
      return documents.filter((document) => classes.includes(idClass(idOf(document), false)));
    }
    return documents.filter((document) => isInRange(idOf(document), command));
  }
}

/** The collection that a command names, by its UUID or by its name, as it is now. */
function collectionOf({ find }: Document, { catalog }: SourceHistory): string | null {
  if (typeof find === 'string') return catalog.at(find);
  const uuid = Buffer.from((find as Binary).value()).toString('hex');
  return catalog.nameOf(uuid) === null ? null : uuid;
}

function decoded(value: ReturnType<typeof encodeValue>): unknown {
  const bytes = Buffer.concat([
    Buffer.from([0, 0, 0, 0, value.type]),
    Buffer.from('v\0'),
    value.bytes,
    Buffer.from([0]),
  ]);
  bytes.writeInt32LE(bytes.length, 0);
  return BSON.deserialize(bytes, { promoteValues: false }).v;
}

/** A client of one source shard, which also takes notes. */
export class ShardClient extends SourceClient {
  readonly label = 'cluster0 shard';
  protected readonly statesTime = false;

  constructor(
    source: SourceHistory,
    private readonly shard: SourceShard,
    network: Network,
    witness: ReadWitness,
  ) {
    super(source, network, witness);
  }

  command(_database: string, command: Document, { signal }: CallOptions): Promise<Document> {
    if ('hello' in command)
      return this.network.call(signal, () => ({
        electionId: new ObjectId(this.shard.term.toString(16).padStart(24, '0')),
      }));
    if (!('appendOplogNote' in command)) throw new Error(`the model's shard has no ${Object.keys(command)[0] ?? ''}`);
    return this.network.call(signal, () => ({ ok: 1, operationTime: timestampOf(this.source.note(this.shard)) }));
  }

  protected readAt(time: bigint, uuid: string): Uint8Array[] {
    return this.shard.readAt(time, uuid);
  }

  protected recordsAt(
    time: bigint,
    uuid: string,
    after: Document | undefined,
  ): { documents: Uint8Array[]; about: About } {
    const { term } = this.shard;
    const all = this.shard.recordsAt(time, uuid);
    const begin = after === undefined ? 0 : all.findIndex(({ record }) => record === after.$recordId) + 1;
    if (after !== undefined && begin === 0) throw serverError(211);
    const records = new Map<Uint8Array, number>(all.map(({ record, document }) => [document, record]));
    const about: About = (batch) => {
      if (this.shard.term !== term) throw serverError(11_602);
      const last = batch.at(-1);
      return last === undefined ? {} : { recordToken: { $recordId: records.get(last) } };
    };
    return { documents: all.slice(begin).map(({ document }) => document), about };
  }

  protected streamFrom(time: bigint): RawCursor {
    return new StreamCursor(this.source, this.shard, this.network, time);
  }
}

/**
 * A stream over a shard's oplog in batches of any size. A batch that ends in the middle has a token between its last
 * event's time and that of the next one; the time of a token is exclusive.
 */
class StreamCursor implements RawCursor {
  readonly open = true;
  readonly first: RawBatch;
  #next: number;

  constructor(
    private readonly source: SourceHistory,
    private readonly shard: SourceShard,
    private readonly network: Network,
    private readonly from: bigint,
  ) {
    const index = shard.oplog.findIndex(({ time }) => time >= from);
    this.#next = index < 0 ? shard.oplog.length : index;
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
    const left = this.shard.oplog.length - this.#next;
    const entries = this.shard.oplog.slice(this.#next, this.#next + scheduler.between(0, Math.min(left, 6)));
    this.#next += entries.length;
    const last = this.shard.oplog[this.#next - 1]?.time ?? this.from;
    const following = this.shard.oplog[this.#next]?.time ?? last;
    const read = last > this.from ? last : this.from;
    const token = following > read && scheduler.chance(0.3) ? following : read;
    const events = entries.flatMap(({ event }) => event ?? []);
    return batchOf(events, { resumeToken: tokenOf(token), operationTime: timestampOf(this.source.now) });
  }
}
