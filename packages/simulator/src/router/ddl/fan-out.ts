import { Double, Int32 } from 'bson';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOrEmpty } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';

/** Codes of parse failures. A router reports them without the shards' replies. */
const parseCodes: ReadonlySet<number> = new Set([14, 9, 40415, 73]);

function isOfParsing({ code, message }: CommandError): boolean {
  return (
    message.startsWith('Enumeration value ') || (parseCodes.has(code) && !message.startsWith('Error in specification '))
  );
}

/** Only a shard's own reply contains what it reports about a duplicate key. */
const keyFields: ReadonlySet<string> = new Set(['keyPattern', 'keyValue']);

/**
 * Sends a DDL command to shards and returns each one's reply under `raw`, as routers do.
 * @param check throws what a shard refuses because of its part in the sharded collection
 * @throws CommandError the first failure, with all replies under `raw`
 */
export async function fanOut(
  context: RouterContext,
  request: CommandRequest,
  shards: readonly ClusterShard[],
  body: Doc = request.body,
  check: (shard: ClusterShard) => void = () => undefined,
): Promise<Doc> {
  const raw: Doc = new Map();
  let failure: CommandError | undefined;
  const answers = await Promise.allSettled(
    shards.map(async (shard) => {
      check(shard);
      return context.sender.run(shard, request, body);
    }),
  );
  for (const [index, { connectionString }] of shards.entries()) {
    const answer = answers[index];
    if (answer?.status === 'fulfilled') {
      if (!answer.value.has('ok')) answer.value.set('ok', new Double(1));
      raw.set(connectionString, answer.value);
      continue;
    }
    const error: unknown = answer?.reason;
    if (!(error instanceof CommandError) || isOfParsing(error)) throw error;
    failure ??= error;
    raw.set(connectionString, failedReply(error));
  }
  if (failure === undefined) return doc(['raw', raw]);
  throw new CommandError(
    failure.code,
    failure.codeName,
    failure.message,
    failure.labels,
    new Map([...[...failure.extra].filter(([name]) => !keyFields.has(name)), ['raw', raw]]),
  );
}

/** Of an unsharded collection routers of 8.0 show what its shard has answered beside `raw`, too. */
export function withOwnFields({ version }: RouterContext, reply: Doc): Doc {
  if (!version.atLeast(8, 0)) return reply;
  const [own] = docOrEmpty(reply.get('raw')).values();
  return new Map([...docOrEmpty(own), ...reply]);
}

function failedReply(error: CommandError): Doc {
  const reply = doc(
    ['ok', new Double(0)],
    ['errmsg', error.message],
    ['code', new Int32(error.code)],
    ['codeName', error.codeName],
  );
  for (const [name, value] of error.extra) reply.set(name, value);
  return reply;
}

/**
 * The primary shard comes last: its change becomes visible after those of the others (server tests: drop coordinator).
 */
export function primaryLast(
  context: RouterContext,
  namespace: string,
  shards: readonly ClusterShard[],
): ClusterShard[] {
  const primary = context.primaryOf(namespace)?.id;
  return [...shards].sort((a, b) => Number(a.id === primary) - Number(b.id === primary));
}

/** From 7.0 on only the primary's event is visible (SERVER-71085, SERVER-71365). */
export function bodyFor(shard: ClusterShard, primary: ClusterShard | undefined, body: Doc): Doc {
  const isHidden = primary?.node.version.atLeast(7, 0) === true && shard.id !== primary.id;
  return isHidden ? new Map([...body, ['fromMigrate', true]]) : body;
}
