import { CommandError, type CommandRequest } from '../node/command.js';
import { docOf } from '../node/doc-fields.js';
import type { NodeIdentity } from './node-identity.js';

/** Commands that a secondary answers with any read preference. */
const always: ReadonlySet<string> = new Set([
  'getMore',
  'killCursors',
  'startSession',
  'refreshSessions',
  'endSessions',
  'killSessions',
  'killAllSessions',
  '_hashBSONElement',
]);
/** Commands that a secondary answers when the client allows it. */
const reads: ReadonlySet<string> = new Set([
  'find',
  'aggregate',
  'count',
  'distinct',
  'listCollections',
  'listIndexes',
  'listDatabases',
  'collStats',
  'dbStats',
  'dataSize',
  'validate',
  'splitVector',
]);

/**
 * Refuses what only a primary does.
 * @throws CommandError 10107 for writes, 13435 for reads that want the primary
 */
export function refuseBySecondary(identity: NodeIdentity, request: CommandRequest): void {
  const { name, body } = request;
  if (identity.role.primary || always.has(name)) return;
  const word = identity.version.atLeast(5) ? 'primary' : 'master';
  if (!reads.has(name) || body.has('txnNumber')) throw new CommandError(10107, 'NotWritablePrimary', `not ${word}`);
  const mode = docOf(body.get('$readPreference'))?.get('mode') ?? 'primary';
  if (mode !== 'primary') return;
  const option = identity.version.atLeast(5) ? 'secondaryOk' : 'slaveOk';
  throw new CommandError(13435, 'NotPrimaryNoSecondaryOk', `not ${word} and ${option}=false`);
}
