import { parseCollation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import type { Doc } from '../../bson/value.js';
import { numberOf } from '../../node/doc-fields.js';
import { failure } from '../failure.js';
import { type MatchedRecord, matchedRecords, writable } from '../read/find-records.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import { batchDocuments } from '../ttl-monitor.js';
import { heldByAnother } from '../storage/record.js';
import { LATEST } from '../storage/time-key.js';
import { refuseView } from '../write/refuse-view.js';
import { letVariables } from './let-variables.js';
import { targetNamespace, type CommandContext } from './command-context.js';
import { writeReply } from './write-reply.js';
import { runStatements, statementBytes, type StatementOutcome } from './write-statements.js';

/** `delete`: removes the first or all documents that match each statement. */
export async function deleteDocuments(context: CommandContext): Promise<Doc> {
  const namespace = targetNamespace(context);
  const statements = statementBytes(context.request, 'deletes');
  const tally = await runStatements(context, statements, (statement) =>
    deleteMatching(context, namespace, decodeDocument(statement)),
  );
  return writeReply(context, tally, false);
}

function deleteMatching(context: CommandContext, namespace: string, statement: Doc): StatementOutcome {
  const { state, participation } = context;
  const filter = statement.get('q');
  const limit = numberOf(statement.get('limit'));
  if (!(filter instanceof Map)) throw failure.typeMismatch("BSON field 'delete.deletes.q' is missing or not an object");
  if (limit !== 0 && limit !== 1)
    throw failure.failedToParse(`The limit field in delete objects must be 0 or 1. Got ${limit ?? 'nothing'}`);
  if (limit === 0 && participation.retryable)
    throw failure.invalidOptions('Cannot use (or request) retryable writes with limit=0');
  refuseView(state, namespace);
  const collection = state.catalog.collection(namespace);
  let n = 0;
  if (collection !== undefined) {
    const collation = statement.get('collation');
    const options = {
      hint: statement.get('hint'),
      sort: undefined,
      collation: collation instanceof Map ? parseCollation(collation) : collection.collation,
      variables: letVariables(context),
      accept: writable(state.version, collection, context.request.routed),
    };
    const view = participation.transaction?.view ?? { time: LATEST, transaction: null };
    const found = matchedRecords(collection, filter, view, options);
    if (limit === 0 && participation.transaction === null && state.version.atLeast(6, 1))
      return deleted(deleteInBatches(state, collection, [...found]));
    for (const { record, bytes } of found) {
      state.writer.delete(collection, record, bytes, participation.transaction);
      n += 1;
      if (limit === 1) break;
    }
  }
  return deleted(n);
}

function deleted(n: number): StatementOutcome {
  return { wrote: n > 0, n, nModified: 0, upsertedId: undefined };
}

/**
 * Several documents at a time, with one entry each time. One that a transaction holds is waited for.
 * @returns how many were deleted
 */
export function deleteInBatches(
  { writer }: ShardState,
  collection: Collection,
  found: readonly MatchedRecord[],
): number {
  for (let at = 0; at < found.length;) {
    const batch = found.slice(at, at + batchDocuments);
    const held = batch.findIndex(({ record }) => heldByAnother(record, null));
    const free = held < 0 ? batch : batch.slice(0, held);
    const [only] = batch;
    if (free.length > 1) writer.deleteTogether(collection, free, () => true);
    else if (only !== undefined) writer.delete(collection, only.record, only.bytes, null);
    at += Math.max(1, free.length);
  }
  return found.length;
}
