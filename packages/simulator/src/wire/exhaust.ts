import { Long } from 'bson';
import type { Doc } from '../bson/value.js';
import { numberOf } from '../node/doc-fields.js';
import type { ParsedCommand } from './parsed-command.js';

const handshakes: ReadonlySet<string> = new Set(['hello', 'isMaster', 'ismaster']);

/**
 * The command with which a node continues by itself after a reply, when the client allows more than one: an awaited
 * hello from its last topology version, a getMore until its cursor ends (OP_MSG specification, exhaustAllowed).
 * @param streamsCursors false for routers of releases that answer every getMore once
 * @returns undefined when the reply was the last one
 */
export function nextInvocation(command: ParsedCommand, reply: Doc, streamsCursors: boolean): ParsedCommand | undefined {
  if (numberOf(reply.get('ok')) !== 1) return undefined;
  if (handshakes.has(command.name)) return nextHello(command, reply);
  if (command.name !== 'getMore' || !streamsCursors) return undefined;
  const cursor = reply.get('cursor');
  const id = cursor instanceof Map ? cursor.get('id') : undefined;
  return id instanceof Long && !id.isZero() ? command : undefined;
}

function nextHello(command: ParsedCommand, reply: Doc): ParsedCommand | undefined {
  const version = reply.get('topologyVersion');
  if (version === undefined || !command.body.has('topologyVersion') || !command.body.has('maxAwaitTimeMS'))
    return undefined;
  return { ...command, body: new Map(command.body).set('topologyVersion', version) };
}
