import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { namedIn } from '../../node/language-names.js';
import { dropCollection } from '../commands/drop.js';
import { rename } from '../commands/rename-collection.js';
import { updateScope } from '../commands/update.js';
import type { CommandContext } from '../commands/command-context.js';
import { makeUuid } from '../storage/catalog.js';
import { uuidText } from '../uuid-text.js';
import { buildIndexes } from '../index-spec/build.js';
import { mergeStep, noMatch, noUniqueIndex, readMerge, supportsMerge } from '../../pipeline/merge-output.js';
import { failure } from '../failure.js';
import type { ShardState } from '../shard-state.js';
import { collectionForWrite, createCollection, refuseInvalidDocument } from './collection-access.js';
import { runUpdate } from './run-update.js';
import { readUpdateStatement } from './update-statement.js';

/** Carries out a pipeline's last stage `$out` or `$merge`. */
export function writeStage(context: CommandContext, stage: Doc, documents: Iterable<Uint8Array | undefined>): void {
  const out = stage.get('$out');
  if (out !== undefined) replaceCollection(context, outTarget(context, out), documents);
  else merge(context, stage.get('$merge') ?? null, documents);
}

function outTarget({ request, state: { version } }: CommandContext, out: Value): string {
  if (typeof out === 'string') return `${request.db}.${out}`;
  const db = out instanceof Map ? out.get('db') : undefined;
  const coll = out instanceof Map ? out.get('coll') : undefined;
  if (out instanceof Map && out.has('timeseries')) namedIn(version, 'option', '$out.timeseries', undefined);
  if (out instanceof Map && (out.size !== 2 || db === undefined || coll === undefined)) {
    throw new CommandError(
      16994,
      'Location16994',
      "If an object is passed to $out it must have exactly 2 fields: 'db' and 'coll'",
    );
  }
  if (typeof db === 'string' && typeof coll === 'string') return `${db}.${coll}`;
  throw new CommandError(16990, 'Location16990', '$out only supports a string or object argument');
}

/** `$out`: inserts into a temporary collection, which then takes the place of the target. */
function replaceCollection(
  { state }: CommandContext,
  namespace: string,
  documents: Iterable<Uint8Array | undefined>,
): void {
  const target = state.catalog.collection(namespace);
  if (state.catalog.view(namespace) !== undefined) throw failure.isView(namespace);
  if (target?.cap !== undefined)
    throw new CommandError(17152, 'Location17152', `namespace '${namespace}' is capped so it can't be used for $out`);
  const db = namespace.slice(0, namespace.indexOf('.'));
  const temporary = createCollection(
    state,
    `${db}.tmp.agg_out.${uuidText(makeUuid().buffer)}`,
    target?.options ?? new Map<string, Value>(),
  );
  buildIndexes(state, temporary, target?.secondaryIndexes.map(({ definition }) => definition.spec) ?? []);
  try {
    for (const document of documents) {
      if (document === undefined) continue;
      const prepared = state.writer.prepareInsert(document);
      refuseInvalidDocument(state, temporary, prepared, undefined);
      state.writer.insert(temporary, prepared, null);
    }
  } catch (error) {
    dropCollection(state, temporary);
    throw error;
  }
  rename(state, temporary, namespace, target);
}

/** `$merge`: document by document into a collection of this shard. */
function merge(context: CommandContext, spec: Value, documents: Iterable<Uint8Array | undefined>): void {
  const rule = readMerge(spec, context.request.db);
  const scope = { ...updateScope(context), namespace: `${rule.db}.${rule.collection}` };
  const on = rule.on ?? ['_id'];
  refuseUncovered(context.state, scope.namespace, on);
  for (const bytes of documents) {
    if (bytes === undefined) continue;
    const { update, document, otherwise } = mergeStep(rule, on, decodeDocument(bytes), scope.variables);
    const matched =
      update === undefined
        ? 0
        : runUpdate(scope, readUpdateStatement(encodeDocument(update), scope.state.version)).matched;
    if (matched > 0) continue;
    if (otherwise === 'fail') throw noMatch();
    if (otherwise === 'insert' || update === undefined) insertMerged(context, scope.namespace, document);
  }
}

function insertMerged({ state, participation }: CommandContext, namespace: string, document: Doc): void {
  const collection = collectionForWrite(state, namespace);
  const prepared = state.writer.prepareInsert(encodeDocument(document));
  refuseInvalidDocument(state, collection, prepared, undefined);
  state.writer.insert(collection, prepared, participation.transaction);
}

/** The fields that documents are matched by must be unique. Throws CommandError 51183. */
function refuseUncovered(state: ShardState, namespace: string, on: readonly string[]): void {
  if (on.length === 1 && on[0] === '_id') return;
  const indexes = state.catalog.collection(namespace)?.indexes ?? [];
  if (!indexes.some(({ definition }) => supportsMerge(definition.spec, on))) throw noUniqueIndex();
}
