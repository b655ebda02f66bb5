import { Double, Int32 } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import { CommandError, type CommandRequest } from '../node/command.js';
import { ReadConcernRefused } from '../node/read-concern-refused.js';
import { ConnectionClosedByFailPoint } from '../faults/fail-command.js';
import type { CommandOutcome, ServedNode } from './served-node.js';

/**
 * Runs a command, and builds its reply.
 * @param prepare returns the command; a CommandError it throws is the reply
 * @param connection what the reply's other fields depend on without a command
 * @throws ConnectionClosedByFailPoint instead of a reply
 */
export async function runCommand(
  node: ServedNode,
  prepare: () => CommandRequest,
  connection: Pick<CommandRequest, 'connection' | 'signal'>,
): Promise<Doc> {
  let request: CommandRequest = { db: 'admin', name: '', body: new Map(), sequences: new Map(), ...connection };
  let outcome: CommandOutcome = 'success';
  let reply: Doc;
  try {
    request = prepare();
    reply = await node.run(request);
    if (!reply.has('ok')) reply.set('ok', new Double(1));
  } catch (error) {
    if (error instanceof ConnectionClosedByFailPoint) throw error;
    const failure = asCommandError(error);
    outcome = outcomeOf(failure, request.name);
    reply = failureReply(failure);
  }
  node.addReplyFields(reply, request, outcome);
  return reply;
}

const commandNotFound = 59;
const unknownField = 40415;
const unknownStage = 40324;

function outcomeOf(failure: CommandError, command: string): CommandOutcome {
  if (failure instanceof ReadConcernRefused) return 'refusedReadConcern';
  const { code, message } = failure;
  const ownField = code === unknownField && message.startsWith(`BSON field '${command}.`);
  return ownField || code === commandNotFound || code === unknownStage ? 'unread' : 'failed';
}

function asCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  const message = error instanceof Error ? `${error.message} ${error.stack ?? ''}` : String(error);
  return new CommandError(8, 'UnknownError', message);
}

/**
 * The reply to a failed command. `code` 0 stands for failures that the server reports without one. Where a router
 * returns its shards' own replies, these come first, and so do the labels of a shard's reply that it passes on, and
 * what a failure without a code adds.
 */
export function failureReply(failure: CommandError): Doc {
  const raw = failure.extra.get('raw');
  const code: [string, Value][] =
    failure.code === 0
      ? []
      : [
          ['code', new Int32(failure.code)],
          ['codeName', failure.codeName],
        ];
  const words: [string, Value][] = [
    ['ok', new Double(0)],
    ['errmsg', failure.message],
  ];
  const handedOn = failure.extra.get('errorLabels');
  const added: [string, Value][] = failure.code === 0 ? [...failure.extra] : [];
  const first: [string, Value][] = handedOn === undefined ? added : [['errorLabels', handedOn]];
  const reply: Doc = new Map<string, Value>(
    raw === undefined ? [...first, ...words, ...code] : [['raw', raw], ...code, ...words],
  );
  for (const [name, value] of failure.extra) if (name !== 'raw') reply.set(name, value);
  if (failure.labels.length > 0 && handedOn === undefined) reply.set('errorLabels', [...failure.labels]);
  return reply;
}
