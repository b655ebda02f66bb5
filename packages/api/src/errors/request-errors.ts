import { entriesOf } from './error-entry.js';

/** The request is invalid. */
export const requestErrors = {
  ...entriesOf(400, {
    invalidHttpRequest: 'The request is not well-formed HTTP. Send it as HTTP/1.1 with a valid path and headers.',
    invalidJson: 'The body is not JSON. Send one JSON object in UTF-8.',
    invalidRequest: 'The body has missing, unknown or invalid fields. Correct those that the description names.',
  }),
  ...entriesOf(404, {
    unknownPath: ['never', 'This path does not exist. GET /api/v1/openapi.json lists the paths.'],
  }),
  ...entriesOf(405, {
    methodNotAllowed: ['never', 'This path does not support the method. The Allow header lists the supported ones.'],
  }),
  ...entriesOf(413, {
    bodyTooLarge: 'The body exceeds the configured limit. Shorten it or raise the limit.',
  }),
};

/** The caller lacks access. */
export const accessErrors = {
  ...entriesOf(401, {
    unauthorized: 'The request has no valid bearer token. Send the configured one in the Authorization header.',
  }),
  ...entriesOf(403, {
    hostNotAllowed: 'The Host header names a host that is not allowed. If it is this service, add it to allowedHosts.',
    readOnlyToken: 'The token is read-only. Send the one that is configured as token.',
    originNotAllowed:
      'The request comes from a web page of another origin. ' +
      'If that page may call this service, add its host to allowedHosts.',
  }),
};

/** Not in this state, or not now. */
export const stateErrors = entriesOf(409, {
  notInThisState: 'The current state does not allow this command. Read the state from progress.',
  optionsDiffer: 'Another instance was started with different options. Start this one with the same options.',
  cannotCommit: 'The migration cannot be committed yet. Wait until canCommit is true.',
  commandFailedOnInstances: 'At least one instance rejected the command. The description gives the reason of each.',
  identityTaken: 'A live process already uses this instance id. Stop it or configure another id.',
  addressTaken: 'Another program already listens on this address and port. Stop it or configure another port.',
  staleEpoch: ['never', 'Another process took over this identity, so this one stopped writing. Stop this process.'],
  migrationExists:
    'The destination holds the state of another migration. ' +
    'Once you no longer need it, remove it with convoy cleanup.',
  migrationLives: 'A migration is running on these clusters. Let it finish, or stop its instances first.',
  migrationFailed: [
    'never',
    'The migration failed; Convoy keeps its data and state for inspection. ' +
      'Before a new one, stop all instances, run convoy cleanup and empty the destination.',
  ],
});
