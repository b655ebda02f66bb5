import { entriesOf } from './error-entry.js';

/** A process, a cluster or Redis does not respond, or the one that responds is not the one that was meant. */
export const availabilityErrors = entriesOf(503, {
  // Of a process that cannot answer now.
  notReady: ['automatic', 'The process is not ready yet. Try again shortly.'],
  shuttingDown: ['automatic', 'The process is shutting down. Try again after it has restarted.'],
  // Of the HTTP client: nothing usable came from an address, be it an instance's or a coordinator's.
  requestTimedOut: [
    'automatic',
    'No reply arrived within the time limit. Read progress to see whether the command was carried out.',
  ],
  instanceUnreachable: [
    'automatic',
    'The address did not accept the request. Check that the process runs and listens there.',
  ],
  tlsFailed: 'The client and the service do not agree on TLS. Check the address and both certificates.',
  unexpectedReply: 'The reply does not follow the contract. Check that the address is the service you meant.',
  // Of the fleet, whose commands pass through Redis.
  commandTimedOut: [
    'automatic',
    'Not every instance acknowledged the command in time. Acknowledgements stay valid: repeat the command.',
  ],
  commandNotSigned: 'The command has no valid signature of the fleet. Set the same fleetSecret in all processes.',
  fleetIncomplete: ['automatic', 'Not every instance of the fleet is registered. Start the missing processes.'],
  // Of the services that processes connect to.
  sourceUnavailable: ['automatic', 'The source cluster is unreachable. Convoy keeps retrying.'],
  destinationUnavailable: ['automatic', 'The destination cluster is unreachable. Convoy keeps retrying.'],
  redisUnavailable: ['automatic', 'Redis is unreachable. Convoy keeps retrying and loses no data.'],
});

/** Defects of Convoy. */
export const internalErrors = entriesOf(500, {
  internalError: ['never', 'Convoy hit an internal error. The process log has the details.'],
});
