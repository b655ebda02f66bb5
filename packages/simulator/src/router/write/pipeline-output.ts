import { Int32, UUID } from 'bson';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import { DateTime } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOrEmpty, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import { errorName } from '../../node/error-name.js';
import { collectionOf, databaseOf } from '../../node/namespace.js';
import {
  type MergeRule,
  mergeStep,
  noMatch,
  noUniqueIndex,
  readMerge,
  supportsMerge,
} from '../../pipeline/merge-output.js';
import type { RouterContext } from '../router-context.js';
import { bulkWrite } from './bulk-write.js';
import type { WriteKind } from './write-statements.js';

/** Documents that `$out` inserts with one command. */
const insertBatchMax = 1000;

/** The last stage of a pipeline when it writes. */
export function outputStage(pipeline: readonly Doc[]): Doc | undefined {
  const last = pipeline.at(-1);
  return last !== undefined && (last.has('$out') || last.has('$merge')) ? last : undefined;
}

/** True when a shard can carry out the output itself: its target is on this shard alone. */
export function writesLocally(context: RouterContext, db: string, shard: ClusterShard, stage: Doc): boolean {
  const namespace = outputNamespace(db, stage);
  return (
    context.catalog.collection(namespace) === undefined && (context.primaryOf(namespace)?.id ?? shard.id) === shard.id
  );
}

/** Writes the results of a pipeline that the router has run. Throws CommandError as the server does. */
export async function writeOutput(
  context: RouterContext,
  request: CommandRequest,
  stage: Doc,
  documents: readonly Doc[],
): Promise<void> {
  const namespace = outputNamespace(request.db, stage);
  if (stage.has('$out')) await replaceCollection(context, request, namespace, documents);
  else await merge(context, request, readMerge(stage.get('$merge') ?? null, request.db), documents);
}

function outputNamespace(db: string, stage: Doc): string {
  const out = stage.get('$out');
  if (typeof out === 'string') return `${db}.${out}`;
  if (out instanceof Map) return `${textOrEmpty(out.get('db'))}.${textOrEmpty(out.get('coll'))}`;
  const rule = readMerge(stage.get('$merge') ?? null, db);
  return `${rule.db}.${rule.collection}`;
}

async function replaceCollection(
  context: RouterContext,
  request: CommandRequest,
  namespace: string,
  documents: readonly Doc[],
): Promise<void> {
  if (context.catalog.collection(namespace) !== undefined) {
    throw new CommandError(28769, 'Location28769', `namespace '${namespace}' is sharded and so can't be used for $out`);
  }
  const shard = await context.primaryForWrite(namespace);
  const db = databaseOf(namespace);
  const temporary = `tmp.agg_out.${new UUID().toString()}`;
  const run = (body: Doc, to = db): Promise<Doc> => context.sender.run(shard, request, body, { db: to });
  const facts = shard.access.collection(namespace);
  await run(new Map([['create', temporary], ...(facts?.options ?? new Map<string, Value>())]));
  const indexes = facts?.indexes.slice(1) ?? [];
  if (indexes.length > 0) await run(doc(['createIndexes', temporary], ['indexes', [...indexes]]));
  try {
    for (let at = 0; at < documents.length; at += insertBatchMax) {
      refuseErrors(await run(doc(['insert', temporary], ['documents', documents.slice(at, at + insertBatchMax)])));
    }
  } catch (error) {
    await run(doc(['drop', temporary]));
    throw error;
  }
  await run(doc(['renameCollection', `${db}.${temporary}`], ['to', namespace], ['dropTarget', true]), 'admin');
}

async function merge(
  context: RouterContext,
  request: CommandRequest,
  rule: MergeRule,
  documents: readonly Doc[],
): Promise<void> {
  const namespace = `${rule.db}.${rule.collection}`;
  const on = rule.on ?? defaultFields(context, namespace);
  refuseUncovered(context, namespace, on, rule.on === undefined);
  const variables = {
    now: new DateTime(BigInt(Date.now())),
    clusterTime: context.clock.current(),
    version: context.version,
  };
  const write = (kind: WriteKind, field: string, statement: Doc): Promise<Doc> =>
    writeOne(context, request, namespace, kind, field, statement);
  for (const given of documents) {
    const { update, document, otherwise } = mergeStep(rule, on, given, variables);
    const n = update === undefined ? 0 : (numberOf((await write('update', 'updates', update)).get('n')) ?? 0);
    if (n > 0) continue;
    if (otherwise === 'fail') throw noMatch();
    if (otherwise === 'insert' || update === undefined) await write('insert', 'documents', document);
  }
}

/** A sharded target is matched by its shard key and `_id`. */
function defaultFields(context: RouterContext, namespace: string): string[] {
  const fields = context.catalog.collection(namespace)?.key.fields ?? [];
  return [...new Set([...fields, '_id'])];
}

function refuseUncovered(context: RouterContext, namespace: string, on: readonly string[], byDefault: boolean): void {
  if (byDefault || (on.length === 1 && on[0] === '_id')) return;
  const indexes = context.holdersOf(namespace)[0]?.access.collection(namespace)?.indexes ?? [];
  if (!indexes.some((index) => supportsMerge(index, on))) throw noUniqueIndex();
}

async function writeOne(
  context: RouterContext,
  request: CommandRequest,
  namespace: string,
  kind: WriteKind,
  field: string,
  statement: Doc,
): Promise<Doc> {
  const body = doc([kind, collectionOf(namespace)]);
  const writeConcern = request.body.get('writeConcern');
  if (writeConcern !== undefined) body.set('writeConcern', writeConcern);
  const sequences = new Map([[field, [encodeDocument(statement)]]]);
  const reply = await bulkWrite(context, { ...request, db: databaseOf(namespace), name: kind, body, sequences }, kind);
  refuseErrors(reply);
  return reply;
}

/** Turns a write error into a failure of the pipeline. */
function refuseErrors(reply: Doc): void {
  const errors = reply.get('writeErrors');
  const error = Array.isArray(errors) ? docOrEmpty(errors[0]) : undefined;
  if (error === undefined) return;
  const code = numberOf(error.get('code')) ?? new Int32(8).value;
  throw new CommandError(code, errorName(code), textOrEmpty(error.get('errmsg')));
}
