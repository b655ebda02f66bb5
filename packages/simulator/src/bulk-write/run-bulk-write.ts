import { Int32 } from 'bson';
import type { Doc } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { isTrue } from '../node/doc-fields.js';
import { collectionOf, databaseOf } from '../node/namespace.js';
import { type BulkOperation, bulkOperations, type OperationKind } from './operation.js';
import { BulkTally } from './tally.js';

const statementField: Readonly<Record<OperationKind, string>> = {
  insert: 'documents',
  update: 'updates',
  delete: 'deletes',
};
/** Fields of a `bulkWrite` that belong to its operations. */
const ownFields: ReadonlySet<string> = new Set(['bulkWrite', 'ops', 'nsInfo', 'errorsOnly', 'cursor']);

/**
 * `bulkWrite` (8.0): writes of all kinds to several collections, by the older write commands. The results come in one
 * batch.
 * @param run runs `insert`, `update` or `delete` on the same node
 * @throws CommandError 13 outside of `admin`, and failures that end the session's transaction or ask the client to
 * retry
 */
export async function runBulkWrite(request: CommandRequest, run: (part: CommandRequest) => Promise<Doc>): Promise<Doc> {
  if (request.db !== 'admin')
    throw new CommandError(13, 'Unauthorized', 'bulkWrite may only be run against the admin database.');
  const ordered = request.body.get('ordered') !== false;
  const tally = new BulkTally(ordered, isTrue(request.body.get('errorsOnly')));
  let first = true;
  for (const group of inGroups(bulkOperations(request))) {
    await runGroup(request, group, first, tally, run);
    first = false;
    if (ordered && tally.failed) break;
  }
  return tally.reply();
}

/**
 * Adjacent inserts into one collection run together. Every other operation runs alone, so that its own result is known.
 */
function inGroups(operations: readonly BulkOperation[]): BulkOperation[][] {
  const groups: BulkOperation[][] = [];
  for (const operation of operations) {
    const group = groups[groups.length - 1];
    const [neighbour] = group ?? [];
    if (
      group !== undefined &&
      operation.kind === 'insert' &&
      neighbour?.kind === 'insert' &&
      neighbour.namespace === operation.namespace
    )
      group.push(operation);
    else groups.push([operation]);
  }
  return groups;
}

async function runGroup(
  request: CommandRequest,
  group: readonly BulkOperation[],
  first: boolean,
  tally: BulkTally,
  run: (part: CommandRequest) => Promise<Doc>,
): Promise<void> {
  const [operation] = group;
  if (operation === undefined) return;
  try {
    tally.add(group, await run(partOf(request, operation, group, first)));
  } catch (error) {
    if (!(error instanceof CommandError) || error.labels.length > 0 || request.body.get('autocommit') === false)
      throw error;
    tally.addFailure(operation, error);
  }
}

function partOf(
  request: CommandRequest,
  { kind, namespace }: BulkOperation,
  group: readonly BulkOperation[],
  first: boolean,
): CommandRequest {
  const body: Doc = new Map([[kind, collectionOf(namespace)]]);
  for (const [name, value] of request.body) if (!ownFields.has(name)) body.set(name, value);
  const transaction = body.get('autocommit') === false;
  if (transaction && !first) for (const name of ['startTransaction', 'readConcern']) body.delete(name);
  if (!transaction && body.has('txnNumber'))
    body.set(
      'stmtIds',
      group.map(({ index }) => new Int32(index)),
    );
  const statements = group.map(({ statement }) => statement);
  return {
    ...request,
    db: databaseOf(namespace),
    name: kind,
    body,
    sequences: new Map([[statementField[kind], statements]]),
  };
}
