import { parseCollation, type Collation } from '../../bson/collation.js';
import { decodeDocument, decodeValue } from '../../bson/decode.js';
import { ElementType } from '../../bson/element-type.js';
import { elementName, scanElements, type ElementLocation } from '../../bson/scan.js';
import type { Doc, Value } from '../../bson/value.js';
import { isTrue } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { failure } from '../failure.js';

/** An update's modification. Replacements and literals stay bytes, as they are only stored. */
export type Modification =
  | { readonly kind: 'operators'; readonly operators: Doc }
  | { readonly kind: 'replacement'; readonly document: Uint8Array }
  /** `[{$replaceWith: {$literal: document}}]`. */
  | { readonly kind: 'literal'; readonly document: Uint8Array }
  | { readonly kind: 'pipeline'; readonly stages: Doc[] };

/** One statement of an update, or the update of a findAndModify. */
export interface UpdateStatement {
  readonly filter: Doc;
  readonly modification: Modification;
  readonly multi: boolean;
  readonly upsert: boolean;
  readonly collation: Collation | undefined;
  readonly arrayFilters: Doc[];
  readonly hint: Value | undefined;
  readonly sort: Doc | undefined;
  /** Constants for a pipeline (`c`). */
  readonly constants: Doc | undefined;
}

/**
 * Parses a statement `{q, u, multi, upsert, …}` without decoding a document that it only stores.
 * @throws CommandError 9, 14 or 40415
 */
export function readUpdateStatement(bytes: Uint8Array, version: ServerVersion): UpdateStatement {
  let modification: Modification | undefined;
  const fields: Doc = new Map();
  for (const element of scanElements(bytes)) {
    const name = elementName(bytes, element);
    if (name === 'u') modification = readModification(bytes, element);
    else fields.set(name, decodeValue(bytes, element.type, element.valueStart));
  }
  if (modification === undefined)
    throw failure.typeMismatch("BSON field 'update.updates.u' is missing but a required field");
  const statement = updateStatement(fields, fields.get('q'), modification);
  return fields.has('sort') ? { ...statement, sort: sortOf(version, fields) } : statement;
}

/** The order that selects the one document to update, since 8.0. */
function sortOf(version: ServerVersion, fields: Doc): Doc | undefined {
  if (!version.atLeast(8, 0)) throw failure.unknownField('update.updates.sort');
  if (isTrue(fields.get('multi'))) throw failure.failedToParse('Cannot specify sort with multi=true');
  const sort = fields.get('sort');
  return sort instanceof Map ? sort : undefined;
}

/** @param fields the further fields of the statement */
export function updateStatement(fields: Doc, filter: Value | undefined, modification: Modification): UpdateStatement {
  if (!(filter instanceof Map))
    throw failure.typeMismatch("BSON field 'update.updates.q' is the wrong type, expected type 'object'");
  const collation = fields.get('collation');
  const constants = fields.get('c');
  const arrayFilters = fields.get('arrayFilters');
  const multi = isTrue(fields.get('multi'));
  if (multi && modification.kind === 'replacement') {
    throw failure.failedToParse('multi update is not supported for replacement-style update');
  }
  return {
    filter,
    modification,
    multi,
    upsert: isTrue(fields.get('upsert')),
    collation: collation instanceof Map ? parseCollation(collation) : undefined,
    arrayFilters: Array.isArray(arrayFilters) ? arrayFilters.filter((entry) => entry instanceof Map) : [],
    hint: fields.get('hint'),
    sort: undefined,
    constants: constants instanceof Map ? constants : undefined,
  };
}

/** Parses `u`: operators when the first field starts with `$`, a pipeline when it is an array, else a replacement. */
export function readModification(bytes: Uint8Array, element: ElementLocation): Modification {
  const value = bytes.subarray(element.valueStart, element.end);
  if (element.type === ElementType.array) {
    const literal = literalOf(value);
    if (literal !== undefined) return { kind: 'literal', document: literal };
    const stages = decodeValue(bytes, element.type, element.valueStart);
    return { kind: 'pipeline', stages: Array.isArray(stages) ? stages.filter((stage) => stage instanceof Map) : [] };
  }
  if (element.type !== ElementType.document) {
    throw failure.failedToParse('Update argument must be either an object or an array');
  }
  const [first] = scanElements(value);
  const isOperators = first !== undefined && elementName(value, first).startsWith('$');
  return isOperators
    ? { kind: 'operators', operators: decodeDocument(value) }
    : { kind: 'replacement', document: value };
}

/** The document of a pipeline that only replaces with a literal. */
function literalOf(pipeline: Uint8Array): Uint8Array | undefined {
  const stage = onlyDocument(pipeline);
  const replacement = stage === undefined ? undefined : onlyDocument(stage, '$replaceWith');
  return replacement === undefined ? undefined : onlyDocument(replacement, '$literal');
}

/** The value of a document's only field, if it has this name and is a document. */
function onlyDocument(bytes: Uint8Array, name?: string): Uint8Array | undefined {
  const elements = scanElements(bytes);
  const first = elements.next();
  if (first.done === true || first.value.type !== ElementType.document) return undefined;
  if (first.value.end !== bytes.length - 1) return undefined;
  if (name !== undefined && elementName(bytes, first.value) !== name) return undefined;
  return bytes.subarray(first.value.valueStart, first.value.end);
}
