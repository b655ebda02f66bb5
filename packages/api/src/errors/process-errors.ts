import type { ErrorEntry } from './error-entry.js';

/** A process, a cluster or Redis does not respond, or the one that responds is not the one that was meant. */
export const availabilityErrors = {
  // Of a process that cannot answer now.
  notReady: { httpStatus: 503, retry: 'automatic', sentence: 'The process is not ready yet. Try again shortly.' },
  shuttingDown: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The process is shutting down. Try again after it has restarted.',
  },
  // Of the HTTP client: nothing usable came from an address, be it an instance's or a coordinator's.
  requestTimedOut: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'No reply arrived within the time limit. Read progress to see whether the command was carried out.',
  },
  instanceUnreachable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The address did not accept the request. Check that the process runs and listens there.',
  },
  tlsFailed: {
    httpStatus: 503,
    retry: 'afterChange',
    sentence: 'The client and the service do not agree on TLS. Check the address and both certificates.',
  },
  unexpectedReply: {
    httpStatus: 503,
    retry: 'afterChange',
    sentence: 'The reply does not follow the contract. Check that the address is the service you meant.',
  },
  // Of the fleet, whose commands pass through Redis.
  commandTimedOut: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'Not every instance acknowledged the command in time. Acknowledgements stay valid: repeat the command.',
  },
  commandNotSigned: {
    httpStatus: 503,
    retry: 'afterChange',
    sentence: 'The command has no valid signature of the fleet. Set the same fleetSecret in all processes.',
  },
  fleetIncomplete: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'Not every instance of the fleet is registered. Start the missing processes.',
  },
  // Of the services that processes connect to.
  sourceUnavailable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The source cluster is unreachable. Convoy keeps retrying.',
  },
  destinationUnavailable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The destination cluster is unreachable. Convoy keeps retrying.',
  },
  redisUnavailable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'Redis is unreachable. Convoy keeps retrying and loses no data.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** Defects of Convoy. */
export const internalErrors = {
  internalError: {
    httpStatus: 500,
    retry: 'never',
    sentence: 'Convoy hit an internal error. The process log has the details.',
  },
} as const satisfies Record<string, ErrorEntry>;
