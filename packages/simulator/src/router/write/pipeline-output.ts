import { Int32, UUID } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOrEmpty, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import { errorName } from '../../node/error-name.js';
import { databaseOf } from '../../node/namespace.js';
import type { RouterContext } from '../router-context.js';

/** Documents that `$out` inserts with one command. */
const insertBatchMax = 1000;

/** The last stage of a pipeline that writes. */
export function outputStage(pipeline: readonly Doc[]): Doc | undefined {
  const last = pipeline.at(-1);
  return last?.has('$out') === true ? last : undefined;
}

/** True when a shard can run the output itself: its target is on this shard alone. */
export function writesLocally(context: RouterContext, db: string, shard: ClusterShard, stage: Doc): boolean {
  const namespace = outputNamespace(db, stage);
  return (
    context.catalog.collection(namespace) === undefined && (context.primaryOf(namespace)?.id ?? shard.id) === shard.id
  );
}

/** Writes the results of a pipeline that the router has run. @throws CommandError as the server does */
export async function writeOutput(
  context: RouterContext,
  request: CommandRequest,
  stage: Doc,
  documents: readonly Doc[],
): Promise<void> {
  const namespace = outputNamespace(request.db, stage);
  if (context.catalog.collection(namespace) !== undefined) {
    throw new CommandError(28769, 'Location28769', `namespace '${namespace}' is sharded and so can't be used for $out`);
  }
  const shard = await context.primaryForWrite(namespace);
  const db = databaseOf(namespace);
  const temporary = `tmp.agg_out.${new UUID().toString()}`;
  const run = (body: Doc, to = db): Promise<Doc> => context.sender.run(shard, request, body, { db: to });
  const facts = shard.access.collection(namespace);
  await run(new Map([['create', temporary], ...(facts?.options ?? new Map<string, Value>())]));
  try {
    const indexes = facts?.indexes.slice(1) ?? [];
    if (indexes.length > 0) await run(doc(['createIndexes', temporary], ['indexes', [...indexes]]));
    for (let at = 0; at < documents.length; at += insertBatchMax) {
      refuseErrors(await run(doc(['insert', temporary], ['documents', documents.slice(at, at + insertBatchMax)])));
    }
    await run(doc(['renameCollection', `${db}.${temporary}`], ['to', namespace], ['dropTarget', true]), 'admin');
  } catch (error) {
    await run(doc(['drop', temporary]));
    throw error;
  }
}

function outputNamespace(db: string, stage: Doc): string {
  const out = stage.get('$out');
  if (typeof out === 'string') return `${db}.${out}`;
  const target = docOrEmpty(out);
  return `${textOrEmpty(target.get('db'))}.${textOrEmpty(target.get('coll'))}`;
}

/** Turns a write error into a failure of the pipeline. */
function refuseErrors(reply: Doc): void {
  const errors = reply.get('writeErrors');
  const error = Array.isArray(errors) ? docOrEmpty(errors[0]) : undefined;
  if (error === undefined) return;
  const code = numberOf(error.get('code')) ?? new Int32(8).value;
  throw new CommandError(code, errorName(code), textOrEmpty(error.get('errmsg')));
}
