import { Binary, Long, type Document, type Timestamp } from 'mongodb';
import { given } from '@convoy/api/contract/given';
import { objectTooLargeCode } from '../failure.js';
import type { RawWrite, WriteOutcome, WriteTicket } from '../node-client.js';
import { statementField } from './driver-sequence.js';

const fieldOfKind = { insert: 'documents', update: 'updates', delete: 'deletes' } as const;

/** Fields of the first command of a transaction, whose commit states the write concern. */
const transactionStart = { startTransaction: true, autocommit: false } as const;

/** The command of a bulk write; the driver adds the session id. */
export function writeCommand(write: RawWrite, ticket: WriteTicket | null): Document {
  assertWithinLimits(write.statements);
  const field = fieldOfKind[write.kind];
  const command: Document = {
    [write.kind]: write.collection,
    [field]: statementField(field, write.statements),
    ordered: write.ordered,
    ...(ticket?.beginsTransaction === true ? transactionStart : { writeConcern: { w: 'majority' } }),
  };
  if (write.kind !== 'delete') command.bypassDocumentValidation = true;
  if (write.collectionUUID !== undefined)
    command.collectionUUID = new Binary(write.collectionUUID, Binary.SUBTYPE_UUID);
  // The server accepts only a 64-bit integer here (an int is error 14).
  if (ticket !== null) command.txnNumber = Long.fromBigInt(ticket.txnNumber);
  return command;
}

interface WriteError {
  index: number;
  code: number;
  errmsg?: string;
  keyPattern?: Document;
  keyValue?: Document;
}

interface WriteReply {
  n?: number;
  nModified?: number;
  upserted?: unknown[];
  writeErrors?: WriteError[];
  operationTime?: Timestamp;
}

/** BadValue: the server's answer to an insert of a document above 16 MB, and to many other errors. */
const badValueCode = 2;

/**
 * Reads the outcome of a bulk write from the server's reply, including failures of single statements. An insert refused
 * for its size is reported as BSONObjectTooLarge, like updates.
 */
export function writeOutcome(
  document: Document,
  { kind, statements }: Pick<RawWrite, 'kind' | 'statements'>,
): WriteOutcome {
  const isTooLarge = ({ index, code }: WriteError): boolean =>
    kind === 'insert' && code === badValueCode && (statements[index]?.length ?? 0) > documentBytesMax;
  const reply = document as WriteReply;
  return {
    n: reply.n ?? 0,
    nModified: reply.nModified ?? 0,
    upserted: reply.upserted?.length ?? 0,
    failures: (reply.writeErrors ?? []).map((error) => {
      const { index, code, errmsg: message = '', keyPattern, keyValue } = error;
      return {
        index,
        code: isTooLarge(error) ? objectTooLargeCode : code,
        message,
        ...given({ keyPattern, keyValue }),
      };
    }),
    ...given({ operationTime: reply.operationTime }),
  };
}

/**
 * Bytes of one bulk write's statements; a single larger statement is allowed. A document of 16 MB fits, and a message
 * stays far below the server's limit of 48,000,000 bytes (`maxMessageSizeBytes`).
 */
export const bulkBytesMax = 16 * 2 ** 20;

/**
 * Bytes of the statements in a command that is sent as one BSON document, such as those to the metadata database. The
 * whole command may have 16 MB and 16 KB.
 */
export const commandBytesMax = 8 * 2 ** 20;

/** Bytes of a document that servers store (`maxBsonObjectSize`). */
export const documentBytesMax = 16 * 2 ** 20;

/**
 * Bytes of one statement. Servers accept no document above 16 MB and 16 KB, and a router puts the statement into the
 * one document of its command to the shard. That command's other fields need the rest.
 */
export const statementBytesMax = 16 * 2 ** 20 + 8 * 2 ** 10;

/** Statements of one bulk write; servers accept 100,000 (`maxWriteBatchSize`). */
export const bulkStatementsMax = 10_000;

/** The server's own limits. */
const serverStatementsMax = 100_000;
const serverMessageBytesMax = 48_000_000;
/** Overhead of a message: header, sections and all command fields but the statements. */
const messageOverhead_bytes = 16 * 1024;

/**
 * Splits a list in order so that each part fits into one command.
 * @param bytesOf the size of an item; an item larger than the limit is its own part
 * @returns parts of at least one item, each as soon as it is full; none for an empty list
 */
export function* partsWithin<Item>(
  items: Iterable<Item>,
  bytesOf: (item: Item) => number,
  bytesMax: number,
): Generator<Item[]> {
  let part: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = bytesOf(item);
    if (part.length > 0 && (bytes + size > bytesMax || part.length >= bulkStatementsMax)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(item);
    bytes += size;
  }
  if (part.length > 0) yield part;
}

/** @throws RangeError for a bulk write that no server accepts: its caller did not bound it */
export function assertWithinLimits(statements: readonly Uint8Array[]): void {
  if (statements.length > serverStatementsMax) throw new RangeError(`a bulk write of ${statements.length} statements`);
  const bytes = statements.reduce((sum, statement) => sum + statement.length, 0);
  if (bytes > serverMessageBytesMax - messageOverhead_bytes) throw new RangeError(`a bulk write of ${bytes} bytes`);
}
