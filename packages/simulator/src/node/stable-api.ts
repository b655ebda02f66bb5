import { CommandError, type CommandRequest } from './command.js';
import type { ServerVersion } from './server-version.js';
import { unknownField } from './unknown-field.js';

/** Fields of the stable API, which came with 5.0 (manual: "Stable API"). */
const apiFields = ['apiVersion', 'apiStrict', 'apiDeprecationErrors'] as const;

/** Commands of API version 1 (manual: "Stable API", "Stable API Commands"). */
const stableCommands: ReadonlySet<string> = new Set([
  'abortTransaction',
  'aggregate',
  'authenticate',
  'bulkWrite',
  'collMod',
  'commitTransaction',
  'create',
  'createIndexes',
  'delete',
  'drop',
  'dropDatabase',
  'dropIndexes',
  'endSessions',
  'explain',
  'find',
  'findAndModify',
  'getMore',
  'hello',
  'insert',
  'killCursors',
  'listCollections',
  'listDatabases',
  'listIndexes',
  'ping',
  'refreshSessions',
  'saslContinue',
  'saslStart',
  'update',
]);

/** Commands that accept unknown fields, because clients send them before they know the server. */
const lenientCommands: ReadonlySet<string> = new Set(['hello', 'isMaster', 'ismaster', 'ping', 'buildInfo']);

const stableApiPage = 'https://www.mongodb.com/docs/manual/reference/stable-api/';

/**
 * Checks `apiVersion`, `apiStrict` and `apiDeprecationErrors`.
 * @throws CommandError 72, 322 and 323 as the server of this release; 40415 from a server that does not know them
 */
export function refuseApiParameters(version: ServerVersion, { name, body }: CommandRequest): void {
  const named = apiFields.find((field) => body.has(field));
  if (named === undefined) return;
  if (!version.atLeast(5, 0)) {
    if (lenientCommands.has(name)) return;
    throw unknownField(`${name}.${named}`);
  }
  if (!body.has('apiVersion'))
    throw new CommandError(72, 'InvalidOptions', `Provided ${named} without passing apiVersion`);
  if (body.get('apiVersion') !== '1') throw new CommandError(322, 'APIVersionError', 'API version must be "1"');
  if (body.get('apiStrict') !== true || isStable(version, name)) return;
  const rule = `Provided apiStrict:true, but the command ${name} is not in API Version 1`;
  throw new CommandError(
    323,
    'APIStrictError',
    `${rule}. Information on supported commands and migrations in API Version 1 can be found at ${stableApiPage}`,
  );
}

/** `count` joined API version 1 with 5.0.9 and 6.0. */
function isStable(version: ServerVersion, command: string): boolean {
  return stableCommands.has(command) || (command === 'count' && version.atLeast(6, 0));
}
