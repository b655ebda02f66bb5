import { documentText } from '../bson/text.js';
import { type Doc, UndefinedValue, type Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { located } from './query-error.js';

/** One value per path; undefined for a path that leads nowhere. */
export type KeyRow = readonly (Value | undefined)[];

/** The rest of one path, and the value reached so far. An empty rest marks the end. */
interface Trail {
  readonly rest: readonly string[];
  readonly found: Value | undefined;
  /** The array element whose number is the next name, followed to the end of the path or to an array on it. */
  readonly numbered?: { readonly element: Value; readonly array: readonly Value[]; readonly end: Step } | undefined;
}

/** Where a walk along a path ended: at its end, at an array, or nowhere. */
interface Step {
  readonly value: Value | undefined;
  readonly rest: readonly string[];
  /** The name of the field it ended at. */
  readonly name: string;
}

/**
 * The values that an index on some paths holds for a document, which also decide its place in a sort. One row for most
 * documents, one per element where a path has an array on its way or at its end. All paths may lead through one array
 * only. An element that a path names by its number counts as a whole (server source: BtreeKeyGenerator).
 * @throws CommandError 171 for arrays on two paths, 16746 for a number that names both an array element and a field of
 * its elements
 */
export function keyRows(doc: Doc, paths: readonly (readonly string[])[]): KeyRow[] {
  return rowsOf(
    doc,
    paths.map((rest) => ({ rest, found: undefined })),
  );
}

function rowsOf(doc: Doc, trails: readonly Trail[]): KeyRow[] {
  let array: { readonly values: readonly Value[]; readonly name: string } | undefined;
  let whole = false;
  const reached = trails.map((trail): Trail & { readonly throughArray: boolean } => {
    if (trail.rest.length === 0) return { ...trail, throughArray: false };
    const step = nextStep(doc, trail);
    if (!Array.isArray(step.value)) return { rest: [], found: step.value, throughArray: false };
    if (array !== undefined && array.values !== step.value) {
      throw new CommandError(
        171,
        'CannotIndexParallelArrays',
        `cannot index parallel arrays [${step.name}] [${array.name}]`,
      );
    }
    array = { values: step.value, name: step.name };
    if (Array.isArray(trail.numbered?.element) && !doc.has(trail.rest[0] ?? '')) whole = true;
    return { rest: step.rest, found: undefined, throughArray: true };
  });
  if (array === undefined) return [reached.map(({ found }) => found)];
  const { values } = array;
  const ahead = reached.map((trail): Trail => ({ ...trail, ...numberedAhead(values, trail.rest) }));
  const entries: readonly Value[] = values.length === 0 ? [UndefinedValue.instance] : values;
  return entries.flatMap((entry) => {
    const ended = whole && values.length > 0 ? (values as Value[]) : entry;
    const next = ahead.map((trail, at) =>
      reached[at]?.throughArray === true && trail.rest.length === 0 ? { ...trail, found: ended } : trail,
    );
    return rowsOf(entry instanceof Map ? entry : noFields, next);
  });
}

const noFields: Doc = new Map();

function nextStep(doc: Doc, { rest, numbered }: Trail): Step {
  const [name = ''] = rest;
  if (numbered === undefined) return walk(doc, rest);
  if (!doc.has(name)) return numbered.end;
  throw located(
    16746,
    'Ambiguous field name found in array (do not use numeric field names in embedded elements in an array), ' +
      `field: '${name}' for array: ${documentText(asDocument(numbered.array))}`,
  );
}

function numberedAhead(array: readonly Value[], rest: readonly string[]): Pick<Trail, 'numbered'> {
  const [name = ''] = rest;
  const element = /^(?:0|[1-9]\d*)$/.test(name) ? array[Number(name)] : undefined;
  return { numbered: element === undefined ? undefined : { element, array, end: walk(asDocument(array), rest) } };
}

/** Follows a path through documents. */
function walk(doc: Doc, path: readonly string[]): Step {
  const [name = '', ...rest] = path;
  const value = doc.get(name);
  if (value instanceof Map && rest.length > 0) return walk(value, rest);
  return { value: rest.length === 0 || Array.isArray(value) ? value : undefined, rest, name };
}

function asDocument(array: readonly Value[]): Doc {
  return new Map(array.map((element, index) => [String(index), element]));
}
