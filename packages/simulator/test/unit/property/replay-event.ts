import type { Int32 } from 'bson';
import type { Doc, Value } from '../../../src/bson/value.js';

/** What an update event says of a change. */
export interface Description {
  updatedFields: Doc;
  removedFields: string[];
  truncatedArrays: Doc[];
  /** Path as its parts, for paths that are ambiguous as a text with dots; from 6.1 with showExpandedEvents. */
  disambiguatedPaths: Doc;
}

export function descriptionOf(event: Doc): Description {
  const description = event.get('updateDescription') as Doc;
  return {
    updatedFields: description.get('updatedFields') as Doc,
    removedFields: description.get('removedFields') as string[],
    truncatedArrays: description.get('truncatedArrays') as Doc[],
    disambiguatedPaths: (description.get('disambiguatedPaths') as Doc | undefined) ?? new Map<string, Value>(),
  };
}

/**
 * Applies an update event to a document as a reader of change streams does: arrays are cut, fields removed, then fields
 * set, each in its place or at the end. A part that is a number is an index where it meets an array and a name
 * elsewhere.
 */
export function replayed(
  before: Doc,
  { updatedFields, removedFields, truncatedArrays, disambiguatedPaths }: Description,
): Doc {
  const after = copyOf(before) as Doc;
  const partsOf = (path: string): string[] =>
    ((disambiguatedPaths.get(path) as Value[] | undefined) ?? path.split('.')).map(partText);
  for (const cut of truncatedArrays) {
    const [owner, name] = ownerOf(after, partsOf(cut.get('field') as string));
    const list = owner instanceof Map ? owner.get(name) : owner[Number(name)];
    if (!Array.isArray(list)) throw new Error(`no array at ${cut.get('field') as string}`);
    list.length = (cut.get('newSize') as Int32).value;
  }
  for (const path of removedFields) {
    const [owner, name] = ownerOf(after, partsOf(path));
    if (!(owner instanceof Map)) throw new Error(`a field is removed from an array: ${path}`);
    owner.delete(name);
  }
  for (const [path, value] of updatedFields) setIn(ownerOf(after, partsOf(path)), value);
  return after;
}

function setIn([owner, name]: [Doc | Value[], string], value: Value): void {
  if (owner instanceof Map) {
    owner.set(name, value);
    return;
  }
  while (owner.length < Number(name)) owner.push(null);
  owner[Number(name)] = value;
}

function ownerOf(doc: Doc, parts: readonly string[]): [Doc | Value[], string] {
  let owner: Doc | Value[] = doc;
  for (const part of parts.slice(0, -1)) {
    const inner: Value | undefined = owner instanceof Map ? owner.get(part) : owner[Number(part)];
    if (!(inner instanceof Map) && !Array.isArray(inner))
      throw new Error(`nothing to descend into at ${parts.join('.')}`);
    owner = inner;
  }
  return [owner, parts.at(-1) ?? ''];
}

function partText(part: Value): string {
  return typeof part === 'string' ? part : String((part as Int32).value);
}

function copyOf(value: Value): Value {
  if (value instanceof Map) return new Map([...value].map(([name, inner]) => [name, copyOf(inner)]));
  return Array.isArray(value) ? value.map(copyOf) : value;
}
