import type { ConvoyError, ErrorName } from '@convoy/api/errors/convoy-error';

/** What to do about a failure where the description of the service cannot know it: the next command. */
const advice: Partial<Readonly<Record<ErrorName, string>>> = {
  instanceUnreachable:
    'Start a coordinator (convoy coordinator), or name another address with --url or CONVOY_URL; a lone instance has http://127.0.0.1:27182.',
  requestTimedOut: 'Look at the state with: convoy progress',
  unexpectedReply: 'Is the address that of a coordinator or an instance? It is given with --url or CONVOY_URL.',
  unauthorized: 'Give the token with --token or CONVOY_TOKEN.',
  fleetIncomplete: 'Start an instance for each shard of the source: convoy instance --id <shard> …',
  notInThisState: 'Look at the state with: convoy progress',
  cannotCommit: 'Wait for it with: convoy watch',
  commandFailedOnInstances: 'Remove the reasons, and send the same command again.',
  commandTimedOut: 'Send the same command again; those that have taken it are not affected.',
  notReversible:
    'The way back is a new migration in the other direction, into an emptied source: docs/cut-over.md has the steps.',
  verificationNotSupported: 'Start without the embedded verifier: convoy start --no-verification',
  migrationExists: 'See what is left there, and have it removed, with: convoy cleanup',
  migrationFailed: 'Stop all instances, then: convoy cleanup',
};

/** A failure for people: what happened, and what to do next where that is not said already. */
export function errorLines(error: ConvoyError): string[] {
  const next = advice[error.error];
  return next === undefined ? [error.message] : [error.message, `Next: ${next}`];
}
