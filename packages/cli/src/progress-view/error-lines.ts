import { nextStepAfterFailure } from '@convoy/api/contract/next-step';
import type { ConvoyError, ErrorName } from '@convoy/api/errors/convoy-error';

/** The next command after a failure, which the service's description cannot know. */
const advice: Partial<Readonly<Record<ErrorName, string>>> = {
  instanceUnreachable:
    'Start a coordinator (convoy coordinator), or set another address with --url or CONVOY_URL. A lone ' +
    'instance listens on http://127.0.0.1:27182.',
  requestTimedOut: 'Check the state with: convoy progress',
  unexpectedReply: 'Set the address of a coordinator or an instance with --url or CONVOY_URL.',
  unauthorized: 'Set the token with --token-file or CONVOY_TOKEN.',
  fleetIncomplete: 'Start an instance for each source shard: convoy instance --id <shard> …',
  notInThisState: 'Check the state with: convoy progress',
  cannotCommit: 'Wait for it with: convoy watch',
  commandFailedOnInstances: 'Remove the reasons, and repeat the command.',
  commandTimedOut: 'Repeat the command; it does not affect instances that accepted it.',
  reversibleNeedsWriteBlocking: 'Add --enable-user-write-blocking, or leave out --reversible.',
  notReversible:
    'To go back, empty the source and migrate in the other direction: docs/guide/cut-over.md has the steps.',
  verificationNotSupported: 'Start without the embedded verifier: convoy start --no-verification',
  migrationExists: 'List and remove that state with: convoy cleanup',
  migrationFailed: 'Stop all instances, then: convoy cleanup',
};

/** Failures that end a migration, and no other. */
const endings: readonly ErrorName[] = [
  'verificationFailed',
  'oplogHistoryLost',
  'catalogDiffers',
  'uniqueIndexViolated',
  'retriesExhausted',
  'transactionsNotEnded',
  'sourceWritesAfterCommit',
  'commitRoundsExceeded',
];

/** A failure as text: what happened, and what to do next unless the description says it. */
export function errorLines(error: ConvoyError): string[] {
  const next = advice[error.error] ?? (endings.includes(error.error) ? nextStepAfterFailure : undefined);
  return next === undefined ? [error.message] : [error.message, `Next: ${next}`];
}
