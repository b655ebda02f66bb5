import { Int32 } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import { type Doc, RawDocument } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import type { RouterContext } from '../router-context.js';
import type { WriteOutcome } from './write-outcome.js';

/** Statements of one bulk write at most (`maxWriteBatchSize`). */
const statementsMax = 100_000;

export type WriteKind = 'insert' | 'update' | 'delete';

export const statementField: Readonly<Record<WriteKind, string>> = {
  insert: 'documents',
  update: 'updates',
  delete: 'deletes',
};

export function isWriteKind(name: string): name is WriteKind {
  return Object.hasOwn(statementField, name);
}

/**
 * The statements of a bulk write as bytes, in either form of the message.
 * @throws CommandError 16 for none or too many
 */
export function writeStatements(request: CommandRequest, kind: WriteKind): readonly Uint8Array[] {
  const field = statementField[kind];
  const statements = request.sequences.get(field) ?? arrayStatements(request.body, field);
  if (statements.length === 0 || statements.length > statementsMax) {
    const range = `Write batch sizes must be between 1 and ${statementsMax}. Got ${statements.length} operations.`;
    throw new CommandError(16, 'InvalidLength', range);
  }
  return statements;
}

function arrayStatements(body: Doc, field: string): Uint8Array[] {
  const array = body.get(field);
  if (!Array.isArray(array)) return [];
  return array.flatMap((each) => {
    if (each instanceof Map) return [encodeDocument(each)];
    return each instanceof RawDocument ? [each.bytes] : [];
  });
}

/** The command for one shard: everything but the statements, and the statements' numbers in the client's batch. */
export function shardWriteBody(request: CommandRequest, kind: WriteKind, indexes: readonly number[]): Doc {
  const body = new Map(request.body);
  body.delete(statementField[kind]);
  const ids = body.get('stmtIds');
  if (body.has('txnNumber') && body.get('autocommit') !== false && (Array.isArray(ids) || !isUpFromZero(indexes))) {
    body.set(
      'stmtIds',
      indexes.map((index) => (Array.isArray(ids) ? ids[index] : undefined) ?? new Int32(index)),
    );
  }
  return body;
}

function isUpFromZero(indexes: readonly number[]): boolean {
  return indexes.length === 0 || (indexes[0] === 0 && indexes[indexes.length - 1] === indexes.length - 1);
}

/** A statement's document, for messages. */
export function statementDocument(statement: Uint8Array): Doc {
  return decodeDocument(statement);
}

/** One bulk write in progress. */
export interface BulkWrite {
  readonly context: RouterContext;
  readonly request: CommandRequest;
  readonly kind: WriteKind;
  readonly namespace: string;
  readonly statements: readonly Uint8Array[];
  readonly ordered: boolean;
  readonly outcome: WriteOutcome;
  /** True where the statements are about measurements, not about the buckets of the namespace. */
  readonly isOfSeries: boolean;
}
