import type { ErrorEntry } from './error-entry.js';

/** The request itself is wrong. */
export const requestErrors = {
  invalidHttpRequest: {
    httpStatus: 400,
    retry: 'afterChange',
    sentence: 'The request is not well-formed HTTP; send it again as HTTP/1.1 with a valid path and headers.',
  },
  invalidJson: {
    httpStatus: 400,
    retry: 'afterChange',
    sentence: 'The body is not JSON; send one JSON object in UTF-8.',
  },
  invalidRequest: {
    httpStatus: 400,
    retry: 'afterChange',
    sentence: 'The body has missing, unknown or wrong fields; correct those that the description names.',
  },
  unknownPath: {
    httpStatus: 404,
    retry: 'never',
    sentence: 'There is nothing at this path; the paths are listed by GET /api/v1/openapi.json.',
  },
  instanceUnknown: {
    httpStatus: 404,
    retry: 'afterChange',
    sentence: 'No instance of this name is registered; compare it with the instances that progress lists.',
  },
  methodNotAllowed: {
    httpStatus: 405,
    retry: 'never',
    sentence: 'This path does not take this method; the Allow header lists those that it takes.',
  },
  bodyTooLarge: {
    httpStatus: 413,
    retry: 'afterChange',
    sentence: 'The body is larger than the configured limit; shorten it or raise the limit.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** The caller may not call. */
export const accessErrors = {
  unauthorized: {
    httpStatus: 401,
    retry: 'afterChange',
    sentence: 'The request has no valid bearer token; send the configured one in the Authorization header.',
  },
  hostNotAllowed: {
    httpStatus: 403,
    retry: 'afterChange',
    sentence: 'The Host header names a host that is not allowed; add it to allowedHosts if it is this service.',
  },
  readOnlyToken: {
    httpStatus: 403,
    retry: 'afterChange',
    sentence: 'The token may read and not command; send the one that is configured as token.',
  },
  originNotAllowed: {
    httpStatus: 403,
    retry: 'afterChange',
    sentence:
      'The request comes from a web page of another origin; add its host to allowedHosts if it may call this service.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** Not in this state, or not now. */
export const stateErrors = {
  notInThisState: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'The command is not allowed in the present state; read it from progress.',
  },
  commandInProgress: {
    httpStatus: 409,
    retry: 'automatic',
    sentence: 'Another command is being carried out; repeat this one when it has ended.',
  },
  optionsDiffer: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'The migration was started with other options on another instance; start this one with the same.',
  },
  cannotCommit: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'The migration cannot be committed yet; wait until canCommit is true.',
  },
  commandFailedOnInstances: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'At least one instance refused the command; the description names each with its reason.',
  },
  identityTaken: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A live process already has this instance identifier; stop it or configure another id.',
  },
  addressTaken: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'Another program listens on the address and port already; end it or configure another port.',
  },
  staleEpoch: {
    httpStatus: 409,
    retry: 'never',
    sentence: 'Another process has taken over this identity, so this one has stopped writing; end it.',
  },
  migrationExists: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence:
      'The destination holds the state of another migration; remove it there with convoy cleanup once it is no longer needed.',
  },
  migrationLives: {
    httpStatus: 409,
    retry: 'afterChange',
    sentence: 'A migration is at work on these clusters; let it end, or stop its instances first.',
  },
  migrationFailed: {
    httpStatus: 409,
    retry: 'never',
    sentence:
      'The migration has failed; its data and state are kept for inspection. Before a new one, stop all instances, run convoy cleanup and empty the destination.',
  },
} as const satisfies Record<string, ErrorEntry>;
