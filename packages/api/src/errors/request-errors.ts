import type { ErrorEntry } from './error-entry.js';

/** The request is invalid. */
export const requestErrors = {
  invalidHttpRequest: {
    httpStatus: 400,
    retry: 'afterChange',
    sentence: 'The request is not well-formed HTTP. Send it as HTTP/1.1 with a valid path and headers.',
  },
  invalidJson: {
    httpStatus: 400,
    retry: 'afterChange',
    sentence: 'The body is not JSON. Send one JSON object in UTF-8.',
  },
  invalidRequest: {
    httpStatus: 400,
    retry: 'afterChange',
    sentence: 'The body has missing, unknown or invalid fields. Correct those that the description names.',
  },
  unknownPath: {
    httpStatus: 404,
    retry: 'never',
    sentence: 'This path does not exist. GET /api/v1/openapi.json lists the paths.',
  },
  methodNotAllowed: {
    httpStatus: 405,
    retry: 'never',
    sentence: 'This path does not support the method. The Allow header lists the supported ones.',
  },
  bodyTooLarge: {
    httpStatus: 413,
    retry: 'afterChange',
    sentence: 'The body exceeds the configured limit. Shorten it or raise the limit.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** The caller lacks access. */
export const accessErrors = {
  unauthorized: {
    httpStatus: 401,
    retry: 'afterChange',
    sentence: 'The request has no valid bearer token. Send the configured one in the Authorization header.',
  },
  hostNotAllowed: {
    httpStatus: 403,
    retry: 'afterChange',
    sentence: 'The Host header names a host that is not allowed. If it is this service, add it to allowedHosts.',
  },
  readOnlyToken: {
    httpStatus: 403,
    retry: 'afterChange',
    sentence: 'The token is read-only. Send the one that is configured as token.',
  },
  originNotAllowed: {
    httpStatus: 403,
    retry: 'afterChange',
    sentence:
      'The request comes from a web page of another origin. ' +
      'If that page may call this service, add its host to allowedHosts.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** Not in this state, or not now. */
export const stateErrors = {
  notInThisState: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'The current state does not allow this command. Read the state from progress.',
  },
  optionsDiffer: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'Another instance was started with different options. Start this one with the same options.',
  },
  cannotCommit: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'The migration cannot be committed yet. Wait until canCommit is true.',
  },
  commandFailedOnInstances: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'At least one instance rejected the command. The description gives the reason of each.',
  },
  identityTaken: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A live process already uses this instance id. Stop it or configure another id.',
  },
  addressTaken: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'Another program already listens on this address and port. Stop it or configure another port.',
  },
  staleEpoch: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'Another process took over this identity, so this one stopped writing. Stop this process.',
  },
  migrationExists: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence:
      'The destination holds the state of another migration. ' +
      'Once you no longer need it, remove it with convoy cleanup.',
  },
  migrationLives: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A migration is running on these clusters. Let it finish, or stop its instances first.',
  },
  migrationFailed: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'The migration failed; Convoy keeps its data and state for inspection. ' +
      'Before a new one, stop all instances, run convoy cleanup and empty the destination.',
  },
} as const satisfies Record<string, ErrorEntry>;
