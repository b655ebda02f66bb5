import { compareValues } from '../bson/compare.js';
import { valueText } from '../bson/text.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { compilePipeline } from '../pipeline/stages.js';
import { failedToParse } from '../query/query-error.js';
import { type Changed, compileOperators } from './apply-operators.js';
import { sameBytes } from './diff.js';
import { dollarPrefixed, immutableId } from './update-error.js';
import type { UpdateOptions, UpdateSite } from './update-options.js';

/** The result of an update. */
interface UpdateResult {
  after: Doc;
  /**
   * `none`: nothing counts as a change, as a rule not a byte differs. For a replacement no byte of the given document
   * differs: one without `_id` replaces. `replace`: the update was a whole document. `delta`: operators or a pipeline.
   */
  kind: 'replace' | 'delta' | 'none';
}

const pipelineStages = new Set(['$set', '$addFields', '$unset', '$project', '$replaceWith']);

/** A parsed update. Throws CommandError for what the document does not allow. */
export type Update = (before: Doc, site: UpdateSite) => UpdateResult;

/**
 * Parses an update. The caller replaces `Timestamp(0, 0)` in the bytes of replacements.
 * @param update operators, a whole document, or a pipeline
 * @throws CommandError as the server does for what it refuses without a document
 */
export function compileUpdate(update: Doc | Doc[], options: UpdateOptions = {}): Update {
  const isReplacement = !Array.isArray(update) && !isOperatorUpdate(update);
  const isWhole = isReplacement || Array.isArray(update);
  const change = compileChange(update, isReplacement, options);
  return (before, site) => {
    const changed = change(before, site);
    const after = withIdFirst(before, changed.after, isWhole);
    if (!changed.rewritten && sameBytes(before, isReplacement ? update : after)) return { after: before, kind: 'none' };
    return { after, kind: isReplacement ? 'replace' : 'delta' };
  };
}

/** Parses an update and applies it to one document. @throws CommandError as the server */
export function applyUpdate(before: Doc, update: Doc | Doc[], options: UpdateOptions & UpdateSite = {}): UpdateResult {
  return compileUpdate(update, options)(before, options);
}

/** True for an update whose first field is an operator. An empty one is a replacement. */
export function isOperatorUpdate(update: Doc): boolean {
  const [first] = update.keys();
  return first?.startsWith('$') === true;
}

function compileChange(
  update: Doc | Doc[],
  isReplacement: boolean,
  options: UpdateOptions,
): (before: Doc, site: UpdateSite) => Changed {
  if (Array.isArray(update)) return compileStages(update, options);
  if (!isReplacement) return compileOperators(update, options);
  return (_before, { inserting }) => {
    if (inserting !== true) refuseDollars(update);
    return { after: new Map(update), rewritten: false };
  };
}

function refuseDollars(replacement: Doc): void {
  for (const name of replacement.keys()) {
    if (name.startsWith('$')) {
      throw dollarPrefixed(
        `The dollar ($) prefixed field '${name}' in '${name}' is not allowed in the context of an update's ` +
          'replacement document. Consider using an aggregation pipeline with $replaceWith.',
      );
    }
  }
}

function compileStages(stages: Doc[], options: UpdateOptions): (before: Doc) => Changed {
  if (options.arrayFilters !== undefined && options.arrayFilters.length > 0)
    throw failedToParse('arrayFilters may not be specified for pipeline-syle updates');
  const run = compilePipeline(stages, { ...options.context, collation: options.collation });
  for (const stage of stages) {
    const [name = ''] = stage.keys();
    if (!pipelineStages.has(name))
      throw new CommandError(72, 'InvalidOptions', `${name} is not allowed to be used within an update`);
  }
  return (before) => {
    const [after] = run([before]);
    return { after: after ?? before, rewritten: false };
  };
}

/**
 * The document with `_id` first, as it is stored. `_id` itself may not change.
 * @param isWhole the update made a whole document, which keeps an `_id` that it does not name
 */
function withIdFirst(before: Doc, after: Doc, isWhole: boolean): Doc {
  const known = before.get('_id');
  const given = after.get('_id');
  if (known === undefined) return given === undefined ? after : moveIdFirst(after, given);
  if (given !== undefined && compareValues(known, given) !== 0) throw alteredId(isWhole, given);
  if (given === undefined && !isWhole)
    throw immutableId("Performing an update on the path '_id' would modify the immutable field '_id'");
  return moveIdFirst(after, given ?? known);
}

function alteredId(isWhole: boolean, given: Value): CommandError {
  return isWhole
    ? immutableId(
        `After applying the update, the (immutable) field '_id' was found to have been altered to _id: ` +
          valueText(given),
      )
    : immutableId("Performing an update on the path '_id' would modify the immutable field '_id'");
}

function moveIdFirst(doc: Doc, id: Value): Doc {
  const [first] = doc.keys();
  if (first === '_id') return doc;
  const moved: Doc = new Map([['_id', id]]);
  for (const [name, value] of doc) if (name !== '_id') moved.set(name, value);
  return moved;
}
