import type { Doc } from '../../bson/value.js';
import { isTrue } from '../../node/doc-fields.js';
import { runUpdate, type UpdateScope } from '../write/run-update.js';
import { readUpdateStatement } from '../write/update-statement.js';
import { targetNamespace, type CommandContext } from './command-context.js';
import { letVariables } from './let-variables.js';
import { writeReply } from './write-reply.js';
import { runStatements, statementBytes } from './write-statements.js';

/** `update`: changes the first or all documents that match each statement. */
export async function update(context: CommandContext): Promise<Doc> {
  const scope = updateScope(context);
  const statements = statementBytes(context.request, 'updates');
  const tally = await runStatements(context, statements, (bytes) => {
    const { matched, modified, upsertedId } = runUpdate(scope, readUpdateStatement(bytes, context.state.version));
    const upserts = upsertedId === undefined ? 0 : 1;
    return { wrote: modified + upserts > 0, n: matched + upserts, nModified: modified, upsertedId };
  });
  return writeReply(context, tally, true);
}

/** What the updates of a command share. */
export function updateScope(context: CommandContext): UpdateScope {
  const { state, participation, request } = context;
  return {
    state,
    namespace: targetNamespace(context),
    participation,
    routed: request.routed,
    bypassValidation: isTrue(request.body.get('bypassDocumentValidation')),
    keepEmptyTimestamps: isTrue(request.body.get('bypassEmptyTsReplacement')),
    variables: letVariables(context),
  };
}
