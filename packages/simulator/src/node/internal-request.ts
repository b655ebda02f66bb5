import type { Doc } from '../bson/value.js';
import type { CommandRequest, ConnectionState, RoutedAccess } from './command.js';

const internalConnection: ConnectionState = {
  id: 0,
  remoteAddress: '',
  authenticated: [],
  bypassesWriteBlocking: true,
};

/** A command that one node of the cluster sends to another. */
export function internalRequest(
  db: string,
  body: Doc,
  parts: Partial<CommandRequest> & { routed?: RoutedAccess } = {},
): CommandRequest {
  return {
    db,
    name: body.keys().next().value ?? '',
    body,
    sequences: new Map(),
    connection: internalConnection,
    signal: new AbortController().signal,
    ...parts,
  };
}
