import { createRequire } from 'node:module';
import { BSON } from 'mongodb';
import { losslessDocument } from '../bson/lossless.js';

/** What Convoy uses of the driver's internal class: a command field sent as an OP_MSG document sequence. */
interface DocumentSequence {
  push(document: object, bytes: Uint8Array): number;
  toBin(): Uint8Array;
}

type DocumentSequenceClass = new (field: string) => DocumentSequence;

/**
 * The driver's class for document sequences. It is not public API: this file is the only one that knows it.
 * @returns null when a driver upgrade has moved or changed it
 */
function findSequenceClass(): DocumentSequenceClass | null {
  try {
    const commands = createRequire(import.meta.url)('mongodb/lib/cmap/commands') as { DocumentSequence?: unknown };
    const candidate = commands.DocumentSequence;
    return typeof candidate === 'function' && bindsAsExpected(candidate as DocumentSequenceClass) ? (candidate as DocumentSequenceClass) : null;
  } catch {
    return null;
  }
}

/** Section kind 1, size, field name, documents: the OP_MSG format. */
function bindsAsExpected(sequenceClass: DocumentSequenceClass): boolean {
  const empty = BSON.serialize({});
  const sequence = new sequenceClass('f');
  sequence.push(empty, empty);
  const expected = Buffer.concat([Buffer.from([1, 6 + empty.length, 0, 0, 0, 0x66, 0]), empty]);
  return Buffer.compare(sequence.toBin(), expected) === 0;
}

const sequenceClass = findSequenceClass();

/** True when statements go out as ready-made buffers; false when they take the slow public way. */
export const sendsReadyMadeBuffers = sequenceClass !== null;

/**
 * The value for a command's field that carries statements (`documents`, `updates`, `deletes`).
 * @param statements serialised documents, passed on without being decoded where the driver allows it
 */
export function statementField(field: string, statements: readonly Uint8Array[]): unknown {
  if (sequenceClass === null) return decodedStatements(statements);
  const sequence = new sequenceClass(field);
  for (const statement of statements) sequence.push(statement, statement);
  return sequence;
}

/** The public way: decoded into Maps, which keep every field's order and every value's type. */
export function decodedStatements(statements: readonly Uint8Array[]): Map<string, unknown>[] {
  return statements.map(losslessDocument);
}
