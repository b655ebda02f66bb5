import { Timestamp } from 'mongodb';
import { idClass } from '../../../src/bson/id-class.js';
import { elementsOf, encodeValue, findValue, type RawValue, readString } from '../../../src/bson/scan.js';
import { hasZeroTimestamp } from '../../../src/bson/zero-timestamp.js';
import type { RawWrite, WriteFailure, WriteOutcome, WriteTicket } from '../../../src/cluster/door.js';
import { documentOf, fieldOf, type Fields, fieldsOf, withField, withoutField } from './raw-document.js';
import { idOf, keyOf } from './source-history.js';
import { MetadataModel } from './metadata-model.js';

/** What a server puts in the place of `Timestamp(0,0)` on insert. */
const presentTime = encodeValue(new Timestamp({ t: 9, i: 9 }));

interface SessionRecord {
  number: bigint;
  outcome: WriteOutcome;
}

/** The destination cluster: documents by shard and id class, sessions with the numbers of their writes, and metadata. */
export class DestinationModel {
  readonly metadata = new MetadataModel();
  readonly #shards: Map<string, Buffer>[];
  readonly #sessions = new Map<string, SessionRecord>();

  /** @param shards `_id`s are unique on each of them only */
  constructor(shards: number) {
    this.#shards = Array.from({ length: shards }, () => new Map<string, Buffer>());
  }

  documents(): Buffer[] {
    return this.#shards.flatMap((shard) => [...shard.values()]);
  }

  /** A retryable write: an old number is refused, the last one is answered from the record, a new one is carried out. */
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
    for (const [index, statement] of write.statements.entries()) {
      const written = this.#statement(write.kind, statement);
      if (typeof written === 'number') outcome.n += written;
      else outcome.failures.push({ index, ...written });
    }
    return outcome;
  }

  #statement(kind: RawWrite['kind'], statement: Uint8Array): number | Omit<WriteFailure, 'index'> {
    if (kind === 'insert') return this.#insert(inserted(statement));
    const parts = new Map(fieldsOf(statement));
    const filter = fieldsOf(parts.get('q')?.bytes ?? statement);
    if (fieldOf(filter, 'sk') === undefined) throw new Error('a filter without the full document key');
    const [shard, name] = [this.#shardOf(documentOf(filter)), className(filter)];
    const present = shard.get(name);
    const found = present !== undefined && keyOf(present) === keyOf(documentOf(filter)) ? present : null;
    if (kind === 'delete') return found !== null && shard.delete(name) ? 1 : 0;
    if (found === null && parts.get('upsert')?.bytes[0] !== 1) return 0;
    const after = pipelineResult(parts.get('u'), found === null ? [] : fieldsOf(found));
    if (className(fieldsOf(after)) !== name || this.#shardOf(after) !== shard) throw new Error('an update changes the key of its document');
    if (found === null) return this.#insert(after);
    shard.set(name, after);
    return 1;
  }

  #insert(document: Buffer): number | Omit<WriteFailure, 'index'> {
    const shard = this.#shardOf(document);
    const name = className(fieldsOf(document));
    if (shard.has(name)) return { code: 11000, message: 'duplicate key' };
    shard.set(name, document);
    return 1;
  }

  #shardOf(document: Uint8Array): Map<string, Buffer> {
    const shard = this.#shards[Math.abs(keyOf(document)) % this.#shards.length];
    if (shard === undefined) throw new Error('no shards');
    return shard;
  }
}

function nothing(): WriteOutcome {
  return { n: 0, nModified: 0, upserted: 0, failures: [] };
}

function refused({ statements }: RawWrite): WriteOutcome {
  return { ...nothing(), failures: statements.map((_, index) => ({ index, code: 225, message: 'transaction too old' })) };
}

function className(fields: Fields): string {
  return idClass(idOf(documentOf(fields)), false);
}

/** An insert loses top-level `Timestamp(0,0)`. */
function inserted(document: Uint8Array): Buffer {
  const fields = fieldsOf(document);
  return documentOf(fields.map(([name, value]) => [name, hasZeroTimestamp(documentOf([[name, value]])) ? presentTime : value]));
}

/** The result of an update pipeline of the stages that Convoy sends. */
function pipelineResult(pipeline: RawValue | undefined, before: Fields): Buffer {
  let fields = before;
  for (const [, stage] of fieldsOf(pipeline?.bytes ?? new Uint8Array())) {
    const [name, argument] = fieldsOf(stage.bytes)[0] ?? [];
    if (argument === undefined) throw new Error('an empty stage');
    if (name === '$replaceWith') fields = fieldsOf(literal(argument).bytes);
    else if (name === '$set') for (const [field, value] of fieldsOf(argument.bytes)) fields = withField(fields, field, literal(value));
    else if (name === '$unset') for (const element of elementsOf(argument.bytes)) fields = withoutField(fields, readString(argument.bytes, element));
    else throw new Error(`the model has no stage ${String(name)}`);
  }
  return documentOf(fields);
}

function literal(value: RawValue): RawValue {
  const inner = findValue(value.bytes, '$literal');
  if (inner === null) throw new Error('a value that is not literal');
  return inner;
}
