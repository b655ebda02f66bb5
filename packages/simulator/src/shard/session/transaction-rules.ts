import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { docOf, textOrEmpty } from '../../node/doc-fields.js';
import { failure } from '../failure.js';

/** Commands that end a transaction, or a phase of its end. */
export const ENDING_COMMANDS: ReadonlySet<string> = new Set([
  'commitTransaction',
  'abortTransaction',
  'prepareTransaction',
  'coordinateCommitTransaction',
]);

/** What a transaction may run (manual, "Transactions and Operations"). */
const ALLOWED: ReadonlySet<string> = new Set([
  'aggregate',
  'create',
  'createIndexes',
  'delete',
  'distinct',
  'find',
  'findAndModify',
  'getMore',
  'insert',
  'killCursors',
  'update',
  'bulkWrite',
  ...ENDING_COMMANDS,
]);
const LEVELS: ReadonlySet<string> = new Set(['', 'local', 'majority', 'snapshot']);

/** Refuses commands and databases that no transaction may touch. @throws CommandError 263 */
export function refuseInTransaction({ name, db }: Pick<CommandRequest, 'name' | 'db'>): void {
  if (!ALLOWED.has(name)) {
    const hint =
      name === 'count'
        ? ' Please see http://dochub.mongodb.org/core/transaction-count for a recommended alternative.'
        : '';
    throw unsupported(`Cannot run '${name}' in a multi-document transaction.${hint}`);
  }
  if ((db === 'config' || db === 'local') && !ENDING_COMMANDS.has(name))
    throw unsupported(`Cannot run command against the '${db}' database in a transaction.`);
}

/** Refuses fields that a statement of a transaction may not have. @throws CommandError 72 */
export function refuseTransactionFields(body: Doc, name: string): void {
  const starts = body.get('startTransaction') === true;
  if (body.has('startTransaction') && !starts)
    throw failure.invalidOptions('Specifying startTransaction=false is not allowed.');
  const readConcern = docOf(body.get('readConcern'));
  if (readConcern !== undefined && readConcern.size > 0 && !starts)
    throw failure.invalidOptions('Only the first command in a transaction may specify a readConcern');
  if (!LEVELS.has(textOrEmpty(readConcern?.get('level')))) {
    throw failure.invalidOptions(
      "The readConcern level must be either 'local' (default), 'majority' or 'snapshot' in order to run in a " +
        'transaction',
    );
  }
  if (body.has('writeConcern') && !ENDING_COMMANDS.has(name)) {
    throw failure.invalidOptions('writeConcern is not allowed within a multi-statement transaction');
  }
}

function unsupported(message: string): CommandError {
  return new CommandError(263, 'OperationNotSupportedInTransaction', message);
}
