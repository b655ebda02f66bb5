import { given } from '@convoy/api/contract/given';
import { Binary, Long, type Document, type Timestamp } from 'mongodb';
import type { RawWrite, WriteOutcome, WriteTicket } from '../node-client.js';
import { statementField } from './driver-sequence.js';
import { objectTooLargeCode } from '../failure.js';
import { assertWithinLimits, documentBytesMax } from './write-limits.js';

const fieldOfKind = { insert: 'documents', update: 'updates', delete: 'deletes' } as const;

/** The command of a bulk write; the driver adds the session id. */
export function writeCommand(write: RawWrite, ticket: WriteTicket | null): Document {
  assertWithinLimits(write.statements);
  const field = fieldOfKind[write.kind];
  const command: Document = {
    [write.kind]: write.collection,
    [field]: statementField(field, write.statements),
    ordered: write.ordered,
    writeConcern: { w: 'majority' },
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
