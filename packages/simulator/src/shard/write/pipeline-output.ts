import { ObjectId } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import { withIdFirst } from '../../bson/scan.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { rename } from '../commands/rename-collection.js';
import { updateScope } from '../commands/update.js';
import type { CommandContext } from '../commands/command-context.js';
import { failure } from '../failure.js';
import { makeUuid } from '../storage/catalog.js';
import { uuidText } from '../uuid-text.js';
import { buildIndexes } from '../index-spec/build.js';
import { createCollection } from './collection-access.js';
import { runUpdate } from './run-update.js';
import { updateStatement, type Modification } from './update-statement.js';

/** Carries out a pipeline's last stage `$out` or `$merge`. */
export function writeStage(context: CommandContext, stage: Doc, documents: Iterable<Uint8Array | undefined>): void {
  const out = stage.get('$out');
  if (out !== undefined) replaceCollection(context, outTarget(context, out), documents);
  else merge(context, stage.get('$merge') ?? null, documents);
}

function outTarget({ request }: CommandContext, out: Value): string {
  if (typeof out === 'string') return `${request.db}.${out}`;
  const db = out instanceof Map ? out.get('db') : undefined;
  const coll = out instanceof Map ? out.get('coll') : undefined;
  if (typeof db === 'string' && typeof coll === 'string') return `${db}.${coll}`;
  throw new CommandError(16990, 'Location16990', '$out only supports a string or object argument');
}

/** `$out`: inserts into a temporary collection, which then takes the place of the target. */
function replaceCollection({ state }: CommandContext, namespace: string, documents: Iterable<Uint8Array | undefined>): void {
  const target = state.catalog.collection(namespace);
  const db = namespace.slice(0, namespace.indexOf('.'));
  const temporary = createCollection(state, `${db}.tmp.agg_out.${uuidText(makeUuid().buffer)}`, target?.options ?? new Map<string, Value>());
  buildIndexes(state, temporary, target?.secondaryIndexes.map(({ definition }) => definition.spec) ?? []);
  for (const document of documents) {
    if (document !== undefined) state.writer.insert(temporary, state.writer.prepareInsert(document), null);
  }
  rename(state, temporary, namespace, target);
}

/** `$merge` with the modes `merge`, `replace`, `keepExisting`, `fail`, and `insert`, `discard`, `fail`. */
function merge(context: CommandContext, spec: Value, documents: Iterable<Uint8Array | undefined>): void {
  const options = spec instanceof Map ? spec : new Map<string, Value>([['into', spec]]);
  const scope = { ...updateScope(context), namespace: mergeTarget(context, options.get('into') ?? null) };
  const matched = options.get('whenMatched') ?? 'merge';
  const notMatched = options.get('whenNotMatched') ?? 'insert';
  const on = options.get('on') ?? '_id';
  const fields = Array.isArray(on) ? on.map(String) : [typeof on === 'string' ? on : '_id'];
  for (const bytes of documents) {
    if (bytes === undefined) continue;
    const document = decodeDocument(withIdFirst(bytes, () => new ObjectId()));
    const filter: Doc = new Map(fields.map((field) => [field, document.get(field) ?? null]));
    const statement = updateStatement(new Map([['upsert', notMatched === 'insert']]), filter, mergeModification(matched, document));
    const { matched: found, upsertedId } = runUpdate(scope, statement);
    if (found === 0 && upsertedId === undefined && notMatched === 'fail') {
      throw new CommandError(13113, 'MergeStageNoMatchingDocument', '$merge could not find a matching document in the target collection for at least one document in the source collection');
    }
  }
}

function mergeTarget({ request }: CommandContext, into: Value): string {
  if (typeof into === 'string') return `${request.db}.${into}`;
  const coll = into instanceof Map ? into.get('coll') : undefined;
  const db = into instanceof Map ? (into.get('db') ?? request.db) : request.db;
  if (typeof coll === 'string' && typeof db === 'string') return `${db}.${coll}`;
  throw failure.failedToParse("$merge 'into' field must be a string or an object");
}

function mergeModification(whenMatched: Value, document: Doc): Modification {
  if (Array.isArray(whenMatched)) return { kind: 'pipeline', stages: whenMatched.filter((stage) => stage instanceof Map) };
  if (whenMatched === 'replace') return { kind: 'replacement', document: encodeDocument(document) };
  if (whenMatched === 'keepExisting') return { kind: 'operators', operators: new Map([['$setOnInsert', document]]) };
  const set: Doc = new Map([...document].filter(([name]) => name !== '_id'));
  return { kind: 'operators', operators: new Map([['$set', set]]) };
}
