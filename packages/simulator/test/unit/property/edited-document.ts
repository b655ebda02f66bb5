import fc from 'fast-check';
import type { Doc, Value } from '../../../src/bson/value.js';

/** A small change of some document or array inside a document. */
interface Edit {
  /** Which one, counted over all of them. */
  container: number;
  /** Which field or element of it, counted. */
  place: number;
  kind: 'set' | 'add' | 'remove' | 'truncate';
  name: string;
  value: Value;
}

export function edits(name: fc.Arbitrary<string>, value: fc.Arbitrary<Value>): fc.Arbitrary<Edit[]> {
  const edit = fc.record({
    container: fc.nat(20),
    place: fc.nat(5),
    kind: fc.constantFrom('set', 'set', 'add', 'remove', 'truncate'),
    name,
    value,
  });
  return fc.array(edit, { minLength: 1, maxLength: 3 });
}

/** A copy of the document with the edits made one after the other. */
export function edited(document: Doc, changes: readonly Edit[]): Doc {
  const after = copyOf(document) as Doc;
  for (const change of changes) {
    const all = containersOf(after);
    const chosen = all[change.container % all.length];
    if (chosen instanceof Map) editFields(chosen, change);
    else if (chosen !== undefined) editItems(chosen, change);
  }
  return after;
}

function editFields(fields: Doc, { place, kind, name, value }: Edit): void {
  const present = [...fields.keys()][place % Math.max(fields.size, 1)] ?? name;
  if (kind === 'add') fields.set(name, value);
  else if (kind === 'set') fields.set(present, value);
  else fields.delete(present);
}

function editItems(items: Value[], { place, kind, value }: Edit): void {
  if (kind === 'add') items.push(value);
  else if (kind === 'set') items[place % Math.max(items.length, 1)] = value;
  else items.length = Math.min(items.length, place);
}

function containersOf(value: Value): (Doc | Value[])[] {
  if (Array.isArray(value)) return [value, ...value.flatMap(containersOf)];
  return value instanceof Map ? [value, ...[...value.values()].flatMap(containersOf)] : [];
}

function copyOf(value: Value): Value {
  if (value instanceof Map) return new Map([...value].map(([name, inner]) => [name, copyOf(inner)]));
  return Array.isArray(value) ? value.map(copyOf) : value;
}
