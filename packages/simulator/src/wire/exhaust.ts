import type { Doc } from '../bson/value.js';
import { handshakes } from '../node/command-names.js';
import { numberOf } from '../node/doc-fields.js';
import type { ParsedCommand } from './parsed-command.js';

/**
 * The command with which a node continues by itself after a reply, when the client allows more than one: an awaited
 * hello from its last topology version (OP_MSG specification, exhaustAllowed). A getMore is answered once.
 * @returns undefined when the reply was the last one
 */
export function nextInvocation(command: ParsedCommand, reply: Doc): ParsedCommand | undefined {
  if (numberOf(reply.get('ok')) !== 1 || !handshakes.has(command.name)) return undefined;
  const version = reply.get('topologyVersion');
  if (version === undefined || !command.body.has('topologyVersion') || !command.body.has('maxAwaitTimeMS'))
    return undefined;
  return { ...command, body: new Map(command.body).set('topologyVersion', version) };
}
