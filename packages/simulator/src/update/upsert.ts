import { ObjectId } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { splitPath } from '../query/document-path.js';
import { equalityFields } from '../query/bounds.js';
import { compileUpdate, isOperatorUpdate, type Update } from './apply.js';
import { pathNotViable } from './update-error.js';
import type { UpdateOptions } from './update-options.js';

/**
 * The document that an upsert inserts: the fields that the filter fixes by equality, then the update. A missing `_id`
 * is generated.
 * @throws CommandError 54 when the filter fixes one path twice, 66 when the update contradicts the filter's `_id`
 */
export function upsertDocument(query: Doc, update: Doc | Doc[], options: UpdateOptions = {}): Doc {
  return insertedBy(compileUpdate(update, options), query, update);
}

/** As `upsertDocument`, with a parsed update. @param update as given */
export function insertedBy(read: Update, query: Doc, update: Doc | Doc[]): Doc {
  const { after } = read(startingDocument(query, update), { inserting: true });
  if (after.has('_id')) return after;
  return new Map<string, Value>([['_id', new ObjectId()], ...after]);
}

/** A replacement takes only `_id` from the filter. */
function startingDocument(query: Doc, update: Doc | Doc[]): Doc {
  const doc: Doc = new Map();
  const fields = equalityFields(query);
  const isReplacement = !Array.isArray(update) && !isOperatorUpdate(update);
  for (const [path, value] of fields) {
    if (isReplacement && path !== '_id') continue;
    setPath(doc, splitPath(path), value, path);
  }
  return doc;
}

function setPath(doc: Doc, path: readonly string[], value: Value, whole: string): void {
  const [name = '', ...rest] = path;
  if (rest.length === 0) {
    if (doc.has(name)) throw notSingle(whole);
    doc.set(name, value);
    return;
  }
  const known = doc.get(name) ?? new Map<string, Value>();
  if (!(known instanceof Map)) throw pathNotViable(rest[0] ?? '', name, known);
  const inner = new Map(known);
  doc.set(name, inner);
  setPath(inner, rest, value, whole);
}

function notSingle(path: string): CommandError {
  return new CommandError(
    54,
    'NotSingleValueField',
    `cannot infer query fields to set, path '${path}' is matched twice`,
  );
}
