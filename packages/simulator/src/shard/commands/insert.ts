import { isTrue } from '../../node/doc-fields.js';
import type { Doc } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { refuseDollarNamesOf44 } from '../write/dollar-fields.js';
import { collectionForWrite, refuseInvalidDocument } from '../write/collection-access.js';
import { targetNamespace, type CommandContext } from './command-context.js';
import { writeReply } from './write-reply.js';
import { runStatements, statementBytes, type StatementOutcome } from './write-statements.js';

/** Largest document, 16 MB (manual, "MongoDB Limits"). */
const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;

const INSERTED: StatementOutcome = { wrote: true, n: 1, nModified: 0, upsertedId: undefined };

/** `insert`: stores documents, and creates a missing collection. */
export async function insert(context: CommandContext): Promise<Doc> {
  const { state, request, participation } = context;
  const namespace = targetNamespace(context);
  const documents = statementBytes(request, 'documents');
  const bypass = isTrue(request.body.get('bypassDocumentValidation'));
  const keepEmptyTimestamps = isTrue(request.body.get('bypassEmptyTsReplacement'));
  const refusesDollars = !state.version.atLeast(5, 0);
  const tally = await runStatements(context, documents, (document) => {
    refuseTooLarge(document);
    const collection = collectionForWrite(state, namespace);
    const prepared = state.writer.prepareInsert(document, keepEmptyTimestamps);
    if (refusesDollars) refuseDollarNamesOf44(prepared);
    if (!bypass) refuseInvalidDocument(state, collection, prepared, undefined);
    state.writer.insert(collection, prepared, participation.transaction);
    return INSERTED;
  });
  return writeReply(context, tally, false);
}

function refuseTooLarge(document: Uint8Array): void {
  if (document.length <= DOCUMENT_BYTES_MAX) return;
  throw new CommandError(
    2,
    'BadValue',
    `object to insert too large. size in bytes: ${document.length}, max size: ${DOCUMENT_BYTES_MAX}`,
  );
}
