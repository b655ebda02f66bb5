import { duplicateKeyCode } from './failure.js';

/** Error codes with which servers refuse queries and commands about definitions: seen on 5.0.7, but for 359 and 370. */
export const serverErrorCode = {
  badValue: 2,
  failedToParse: 9,
  typeMismatch: 14,
  alreadyInitialized: 23,
  namespaceNotFound: 26,
  indexNotFound: 27,
  namespaceExists: 48,
  indexAlreadyExists: 68,
  invalidOptions: 72,
  indexOptionsConflict: 85,
  indexKeySpecsConflict: 86,
  commandNotSupportedOnView: 166,
  unsatisfiableCommitQuorum: 278,
  // 6.0 and later: from the servers' list of errors.
  cannotConvertIndexToUnique: 359,
  // 6.0 and later: from the servers' source.
  cannotDropShardKeyIndex: 370,
  duplicateKey: duplicateKeyCode,
  backgroundOperationInProgress: 12587,
  databaseDifferCase: 13297,
} as const;

/** Of a server with `requireApiVersion`, to every command without an API version. */
export const apiVersionMissingCode = 498_870;

/** NoQueryExecutionPlans: a query would read a whole collection, and `notablescan` forbids that. */
export const noQueryPlanCode = 291;

/** ShardNotFound: also of a shard that is draining, which gets no database and no zone. */
export const shardNotFoundCode = 70;

/** InvalidViewDefinition: an entry of `system.views` is malformed, and the server lists nothing of its database. */
export const invalidViewCode = 182;

/** The command by which an operator allows what `notablescan` forbids. */
export const notablescanOff = 'db.adminCommand({setParameter: 1, notablescan: false})';

/** What an operator does about `requireApiVersion`. */
export const requireApiVersionOff =
  'Set it to false on every node: db.adminCommand({setParameter: 1, requireApiVersion: false}).';
