import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { namedIn } from '../../node/language-names.js';
import { dropCollection } from '../commands/drop.js';
import { rename } from '../commands/rename-collection.js';
import type { CommandContext } from '../commands/command-context.js';
import { makeUuid, uuidText } from '../../bson/uuid.js';
import { buildIndexes } from '../index-spec/build.js';
import { createCollection, refuseInvalidDocument } from './collection-access.js';
import { insertAll } from './insert-batches.js';
import { refuseView } from './refuse-view.js';

/** Runs `$out`, a pipeline's last stage. */
export function writeStage(context: CommandContext, stage: Doc, documents: Iterable<Uint8Array | undefined>): void {
  replaceCollection(context, outTarget(context, stage.get('$out') ?? null), documents);
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

/** `$out`: inserts into a temporary collection, which then replaces the target. */
function replaceCollection(
  { state }: CommandContext,
  namespace: string,
  documents: Iterable<Uint8Array | undefined>,
): void {
  const target = state.catalog.collection(namespace);
  refuseView(state, namespace);
  if (target?.cap !== undefined)
    throw new CommandError(17152, 'Location17152', `namespace '${namespace}' is capped so it can't be used for $out`);
  const db = namespace.slice(0, namespace.indexOf('.'));
  const temporary = createCollection(
    state,
    `${db}.tmp.agg_out.${uuidText(makeUuid().buffer)}`,
    target?.options ?? new Map<string, Value>(),
  );
  try {
    buildIndexes(state, temporary, target?.secondaryIndexes.map(({ definition }) => definition.spec) ?? []);
    const stored: Uint8Array[] = [];
    for (const document of documents) {
      if (document === undefined) continue;
      const prepared = state.writer.prepareInsert(document);
      refuseInvalidDocument(state, temporary, prepared, undefined);
      stored.push(prepared);
    }
    insertAll(state.writer, temporary, stored, state.version.atLeast(8, 0));
    rename(state, temporary, namespace, target);
  } catch (error) {
    dropCollection(state, temporary);
    throw error;
  }
}
