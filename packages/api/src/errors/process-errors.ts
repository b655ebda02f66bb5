import type { ErrorEntry } from './error-entry.js';

/** A process, a cluster or Redis does not answer at present. */
export const availabilityErrors = {
  notReady: { httpStatus: 503, retry: 'automatic', sentence: 'The process is not ready yet; try again shortly.' },
  shuttingDown: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The process is ending; try again when it has been started anew.',
  },
  requestTimedOut: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'No reply came within the time limit; read progress to see whether the command was carried out.',
  },
  instanceUnreachable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The address did not accept the request; check that the process runs and listens there.',
  },
  unexpectedReply: {
    httpStatus: 503,
    retry: 'afterChange',
    sentence:
      'The address answered with something that is not the contract; check that it is the service that was meant.',
  },
  commandTimedOut: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'Not every instance acknowledged the command in time; those that did keep it, and it may be repeated.',
  },
  fleetIncomplete: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'Not every instance of the fleet is registered; start the missing processes.',
  },
  sourceUnavailable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The source cluster cannot be reached; it is retried.',
  },
  destinationUnavailable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'The destination cluster cannot be reached; it is retried.',
  },
  redisUnavailable: {
    httpStatus: 503,
    retry: 'automatic',
    sentence: 'Redis cannot be reached; it is retried, and no data is lost meanwhile.',
  },
} as const satisfies Record<string, ErrorEntry>;

/** Defects of Convoy. */
export const internalErrors = {
  internalError: {
    httpStatus: 500,
    retry: 'never',
    sentence: 'Convoy met a defect of its own; the log of the process has the details.',
  },
} as const satisfies Record<string, ErrorEntry>;
