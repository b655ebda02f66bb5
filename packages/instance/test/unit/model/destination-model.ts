import { Timestamp } from 'mongodb';
import { elementType } from '../../../src/bson/element-type.js';
import { idClass } from '../../../src/bson/id.js';
import { decodeValue, elementsOf, encodeValue, findValue, RawValue, readString } from '../../../src/bson/scan.js';
import { hasZeroTimestamp } from '../../../src/bson/sent-value.js';
import type { RawWrite, WriteFailure, WriteOutcome, WriteTicket } from '../../../src/cluster/node-client.js';
import { documentOf, fieldOf, type Fields, fieldsOf, withField } from './raw-document.js';
import { idOf, keyOf } from './source-history.js';
import { modelNamespace, modelUuid } from './change-events.js';
import { MetadataModel } from './metadata-model.js';

/** What a server puts in the place of `Timestamp(0,0)` on insert. */
const presentTime = encodeValue(new Timestamp({ t: 9, i: 9 }));

type Shards = readonly Map<string, Buffer>[];

interface SessionRecord {
  number: bigint;
  outcome: WriteOutcome;
}

/** A collection that stands for one of the source: documents by shard and id class. */
interface DestinationCollection {
  sourceUuid: string;
  shards: Map<string, Buffer>[];
}

/** The destination cluster: collections by name, sessions with the numbers of their writes, and metadata. */
export class DestinationModel {
  readonly metadata = new MetadataModel();
  readonly #collections = new Map<string, DestinationCollection>();
  readonly #sessions = new Map<string, SessionRecord>();

  /** @param shards `_id`s are unique on each of them only */
  constructor(private readonly shards: number) {
    this.make(modelUuid, modelNamespace.name);
  }

  documents(name: string = modelNamespace.name): Buffer[] {
    return this.#collections.get(name)?.shards.flatMap((shard) => [...shard.values()]) ?? [];
  }

  /** Names and documents of all collections. */
  state(): string[] {
    return [...this.#collections.keys()]
      .flatMap((name) => [name, ...this.documents(name).map((document) => `${name} ${document.toString('hex')}`)])
      .sort();
  }

  /** The name of the collection that stands for one of the source; null when there is none. */
  nameOf(sourceUuid: string): string | null {
    for (const [name, collection] of this.#collections) if (collection.sourceUuid === sourceUuid) return name;
    return null;
  }

  /** Makes an empty collection for one of the source, in place of what stands for it and of what has the name. */
  make(sourceUuid: string, name: string): void {
    this.drop(sourceUuid);
    this.#collections.set(name, {
      sourceUuid,
      shards: Array.from({ length: this.shards }, () => new Map<string, Buffer>()),
    });
  }

  drop(sourceUuid: string): void {
    const name = this.nameOf(sourceUuid);
    if (name !== null) this.#collections.delete(name);
  }

  rename(sourceUuid: string, to: string): void {
    const name = this.nameOf(sourceUuid);
    const collection = this.#collections.get(name ?? '');
    if (name === null || collection === undefined || name === to) return;
    this.#collections.delete(name);
    this.#collections.set(to, collection);
  }

  /** A retryable write: an old number is refused, the last one is answered from the record, a new one is executed. */
  write(write: RawWrite, ticket: WriteTicket): WriteOutcome {
    const session = Buffer.from(ticket.lsid).toString('hex');
    const last = this.#sessions.get(session);
    if (last !== undefined && ticket.txnNumber < last.number) return refused(write);
    if (last?.number === ticket.txnNumber) return last.outcome;
    const outcome = write.collection === 'fence' ? { ...nothing(), n: write.statements.length } : this.#carryOut(write);
    this.#sessions.set(session, { number: ticket.txnNumber, outcome });
    return outcome;
  }

  #carryOut(write: RawWrite): WriteOutcome {
    const outcome = nothing();
    const collection = this.#collections.get(write.collection);
    if (collection === undefined)
      throw new Error(`a write to ${write.collection}, which the destination does not have`);
    for (const [index, statement] of write.statements.entries()) {
      const written = statementOn(collection.shards, write.kind, statement);
      if (typeof written === 'number') outcome.n += written;
      else outcome.failures.push({ index, ...written });
    }
    return outcome;
  }
}

function statementOn(
  shards: Shards,
  kind: RawWrite['kind'],
  statement: Uint8Array,
): number | Omit<WriteFailure, 'index'> {
  if (kind === 'insert') return insert(shards, inserted(statement));
  const parts = new Map(fieldsOf(statement));
  const filter = fieldsOf(parts.get('q')?.bytes ?? statement);
  if (fieldOf(filter, 'sk') === undefined) throw new Error('a filter without the full document key');
  const [shard, name] = [shardOf(shards, documentOf(filter)), className(filter)];
  const present = shard.get(name);
  const found = present !== undefined && keyOf(present) === keyOf(documentOf(filter)) ? present : null;
  if (kind === 'delete') return found !== null && shard.delete(name) ? 1 : 0;
  if (found === null && parts.get('upsert')?.bytes[0] !== 1) return 0;
  const update = parts.get('u');
  const before = found === null ? [] : fieldsOf(found);
  const after = update?.type === elementType.document ? operatorResult(update, before) : pipelineResult(update, before);
  if (className(fieldsOf(after)) !== name || shardOf(shards, after) !== shard)
    throw new Error('an update changes the key of its document');
  if (found === null) return insert(shards, after);
  shard.set(name, after);
  return 1;
}

function insert(shards: Shards, document: Buffer): number | Omit<WriteFailure, 'index'> {
  const shard = shardOf(shards, document);
  const name = className(fieldsOf(document));
  if (shard.has(name)) return { code: 11000, message: 'duplicate key' };
  shard.set(name, document);
  return 1;
}

function shardOf(shards: Shards, document: Uint8Array): Map<string, Buffer> {
  const shard = shards[Math.abs(keyOf(document)) % shards.length];
  if (shard === undefined) throw new Error('no shards');
  return shard;
}

function nothing(): WriteOutcome {
  return { n: 0, nModified: 0, upserted: 0, failures: [] };
}

function refused({ statements }: RawWrite): WriteOutcome {
  return {
    ...nothing(),
    failures: statements.map((_, index) => ({ index, code: 225, message: 'transaction too old' })),
  };
}

function className(fields: Fields): string {
  return idClass(idOf(documentOf(fields)), false);
}

/** An insert loses top-level `Timestamp(0,0)`. */
function inserted(document: Uint8Array): Buffer {
  const fields = fieldsOf(document);
  return documentOf(
    fields.map(([name, value]) => [name, hasZeroTimestamp(documentOf([[name, value]])) ? presentTime : value]),
  );
}

/** The result of update operators. `$set` adds new fields in the order of their names, whatever that of the update. */
function operatorResult({ bytes }: RawValue, before: Fields): Buffer {
  let fields = before;
  for (const [operator, { bytes: changes }] of fieldsOf(bytes)) {
    const changed = fieldsOf(changes).sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    if (operator === '$set') for (const [field, value] of changed) fields = withField(fields, field, value);
    else if (operator === '$unset') fields = fields.filter(([field]) => !changed.some(([name]) => name === field));
    else throw new Error(`the model has no operator ${operator}`);
  }
  return documentOf(fields);
}

/**
 * The result of an update pipeline with the stages that Convoy sends. A field that one stage removes keeps its place
 * for the others; on 8.0 it does not if that is the first stage, and no pipeline of Convoy sets such a field again.
 */
function pipelineResult(pipeline: RawValue | undefined, before: Fields): Buffer {
  let fields = before;
  const removed = new Set<string>();
  for (const [, stage] of fieldsOf(pipeline?.bytes ?? new Uint8Array())) {
    const [name, argument] = fieldsOf(stage.bytes)[0] ?? [];
    if (argument === undefined) throw new Error('an empty stage');
    if (name === '$replaceWith') fields = fieldsOf(literal(argument).bytes);
    else if (name === '$set') {
      for (const [field, value] of fieldsOf(argument.bytes)) {
        fields = withField(fields, field, sliceOf(value, fields) ?? literal(value));
        removed.delete(field);
      }
    } else if (name === '$unset')
      for (const element of elementsOf(argument.bytes)) removed.add(readString(argument.bytes, element));
    else throw new Error(`the model has no stage ${String(name)}`);
  }
  return documentOf(fields.filter(([field]) => !removed.has(field)));
}

function literal(value: RawValue): RawValue {
  const inner = findValue(value.bytes, '$literal');
  if (inner === null) throw new Error('a value that is not literal');
  return inner;
}

/** `{$slice: ['$field', n]}`: the first elements of an array. */
function sliceOf(value: RawValue, before: Fields): RawValue | null {
  const slice = findValue(value.bytes, '$slice');
  if (slice === null) return null;
  const [array, size] = fieldsOf(slice.bytes).map(([, part]) => decodeValue(part));
  const present = fieldOf(before, String(array).slice(1));
  if (present === undefined) throw new Error('a truncation of what is not there');
  return new RawValue(present.type, documentOf(fieldsOf(present.bytes).slice(0, Number(size))));
}
