import { compareValues } from '../../bson/compare.js';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import { elementName, scanElements, scanPath, withIdFirst } from '../../bson/scan.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ExpressionContext } from '../../expression/variables.js';
import { equalityFields } from '../../query/bounds.js';
import { compileUpdate, type Update } from '../../update/apply.js';
import { insertedBy } from '../../update/upsert.js';
import type { UpdateOptions } from '../../update/update-options.js';
import { sameFields, type UpdateOrigin } from './document-writer.js';
import type { Modification, UpdateStatement } from './update-statement.js';

/** Fills the empty timestamps of a document that is stored as a whole. */
type Stamp = (document: Uint8Array) => Uint8Array;

/** A document after an update. */
interface Modified {
  readonly document: Uint8Array;
  readonly origin: UpdateOrigin;
}

const DOLLAR = 0x24;
const BY_REPLACEMENT: UpdateOrigin = { operators: undefined, replacement: true };
const BY_PIPELINE: UpdateOrigin = { operators: undefined, replacement: false };

/** A statement with its parsed update. */
export interface ReadUpdate {
  readonly statement: UpdateStatement;
  readonly update: Update;
}

/** Parses a statement. @throws CommandError for what the server refuses before it searches documents */
export function readUpdate(statement: UpdateStatement, variables: ExpressionContext): ReadUpdate {
  const { kind } = statement.modification;
  const read = (): Update => compileUpdate(updateOf(statement.modification), optionsOf(statement, variables));
  // A whole document needs no checks, and is decoded only where its bytes do not suffice.
  const isWhole = kind === 'replacement' || kind === 'literal';
  return { statement, update: isWhole ? (before, site) => read()(before, site) : read() };
}

/**
 * What a statement makes of a document. Undefined when nothing changes, as a rule not a byte.
 * @throws CommandError as the server does
 */
export function modifiedDocument(read: ReadUpdate, before: Uint8Array, stamp: Stamp): Modified | undefined {
  const { modification } = read.statement;
  const document = storedAsGiven(modification, before, stamp) ?? computed(read, before, stamp);
  const comparesBytes = modification.kind === 'pipeline' || modification.kind === 'literal';
  if (document === undefined || (comparesBytes && Buffer.compare(document, before) === 0)) return undefined;
  if (modification.kind === 'replacement' && Buffer.compare(modification.document, before) === 0) return undefined;
  return { document, origin: { ...originOf(modification), given: givenOrder(modification, document) } };
}

/** The result of a replacement whose `_id` is not its first field, with its fields in the given order. */
function givenOrder(modification: Modification, stored: Uint8Array): Uint8Array | undefined {
  if (modification.kind !== 'replacement') return undefined;
  const names = [...scanElements(modification.document)].map((element) => elementName(modification.document, element));
  if (names[0] === '_id' || !names.includes('_id')) return undefined;
  const fields = decodeDocument(stored);
  return encodeDocument(new Map(names.map((name) => [name, fields.get(name) ?? null])));
}

function originOf(modification: Modification): UpdateOrigin {
  if (modification.kind === 'operators') return { operators: modification.operators, replacement: false };
  return modification.kind === 'replacement' ? BY_REPLACEMENT : BY_PIPELINE;
}

/**
 * A whole document that replaces another without decoding either. Undefined when it needs the checks of the language:
 * another `_id`, none, or `$` in it.
 */
function storedAsGiven(modification: Modification, before: Uint8Array, stamp: Stamp): Uint8Array | undefined {
  if (modification.kind !== 'literal' && modification.kind !== 'replacement') return undefined;
  const { document } = modification;
  if (!sameFields(document, before, ['_id'])) return undefined;
  const ordered = withIdFirst(document, () => null);
  if (modification.kind === 'literal') return own(ordered, document);
  if (document.includes(DOLLAR)) return undefined;
  return own(stamp(ordered), document);
}

/** A copy, unless it is one already: stored bytes must not retain the whole message. */
function own(document: Uint8Array, given: Uint8Array): Uint8Array {
  return document === given ? Buffer.from(document) : document;
}

function computed({ update }: ReadUpdate, before: Uint8Array, stamp: Stamp): Uint8Array | undefined {
  const { after, kind } = update(decodeDocument(before), {});
  if (kind === 'none') return undefined;
  const document = encodeDocument(after);
  return kind === 'replace' ? stamp(document) : document;
}

/** The document that a statement inserts when nothing matches, `_id` first. */
export function upsertedDocument({ statement, update }: ReadUpdate, stamp: Stamp): Uint8Array {
  const { modification } = statement;
  const document =
    insertedAsGiven(statement) ?? encodeDocument(insertedBy(update, statement.filter, updateOf(modification)));
  const ordered = withIdFirst(document, () => null);
  return modification.kind === 'replacement' ? stamp(ordered) : ordered;
}

/** A whole document whose `_id` equals the filter's, or that the filter does not mention. */
function insertedAsGiven({ modification, filter }: UpdateStatement): Uint8Array | undefined {
  if (modification.kind !== 'literal' && modification.kind !== 'replacement') return undefined;
  const { document } = modification;
  const id = scanPath(document, '_id');
  const wanted = equalityFields(filter).get('_id');
  if (id === undefined || (wanted !== undefined && compareValues(id, wanted) !== 0)) return undefined;
  return Buffer.from(document);
}

function updateOf(modification: Modification): Doc | Doc[] {
  switch (modification.kind) {
    case 'operators':
      return modification.operators;
    case 'replacement':
      return decodeDocument(modification.document);
    case 'literal': {
      const literal: Doc = new Map([['$literal', decodeDocument(modification.document)]]);
      return [new Map([['$replaceWith', literal]])];
    }
    case 'pipeline':
      return modification.stages;
  }
}

function optionsOf(statement: UpdateStatement, variables: ExpressionContext): UpdateOptions {
  const { collation, constants } = statement;
  const context =
    constants === undefined
      ? variables
      : { ...variables, let: new Map<string, Value | undefined>([...(variables.let ?? []), ...constants]) };
  return { arrayFilters: statement.arrayFilters, collation, context };
}
