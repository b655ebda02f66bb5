import { Int32 } from 'bson';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeDocument } from '../../../src/bson/encode.js';
import type { Doc, Value } from '../../../src/bson/value.js';
import { applyUpdate } from '../../../src/update/apply.js';
import { describeUpdate, type UpdateDescription } from '../../../src/update/describe.js';
import { value } from '../bson/arbitrary-value.js';

const name = fc.constantFrom('a', 'b', 'c', 'd');
const leaf = value;
const nested: fc.Arbitrary<Value> = fc.oneof(
  leaf,
  fc.array(fc.tuple(name, leaf), { maxLength: 3 }).map((fields): Value => new Map(fields)),
  fc.array(leaf, { maxLength: 4 }),
);
const stored: fc.Arbitrary<Doc> = fc
  .array(fc.tuple(name, nested), { maxLength: 4 })
  .map((fields) => new Map<string, Value>([['_id', 'x'], ...fields]));

function isContainer(candidate: Value | undefined): candidate is Doc | Value[] {
  return candidate instanceof Map || Array.isArray(candidate);
}

/** Applies a description as a reader of change events does: truncations, then removals, then updated fields. */
function replay(before: Doc, description: UpdateDescription): Doc {
  const after = structuredCopy(before) as Doc;
  for (const { field, newSize } of description.truncatedArrays) {
    const list = parentOf(after, field.split('.')).get(field.split('.').at(-1) ?? '');
    if (Array.isArray(list)) list.length = newSize.value;
  }
  for (const path of description.removedFields)
    parentOf(after, path.split('.')).set(path.split('.').at(-1) ?? '', undefined);
  for (const [path, updated] of description.updatedFields)
    parentOf(after, path.split('.')).set(path.split('.').at(-1) ?? '', updated);
  return after;
}

interface Slot {
  get(name: string): Value | undefined;
  set(name: string, value: Value | undefined): void;
}

function parentOf(doc: Doc, path: readonly string[]): Slot {
  let owner: Doc | Value[] = doc;
  for (const part of path.slice(0, -1)) {
    const inner: Value | undefined = Array.isArray(owner) ? owner[Number(part)] : owner.get(part);
    if (!isContainer(inner)) throw new Error(`no container at ${path.join('.')}`);
    owner = inner;
  }
  const container = owner;
  return {
    get: (part) => (Array.isArray(container) ? container[Number(part)] : container.get(part)),
    set: (part, updated) => {
      if (Array.isArray(container)) container[Number(part)] = updated ?? null;
      else if (updated === undefined) container.delete(part);
      else container.set(part, updated);
    },
  };
}

function structuredCopy(source: Value): Value {
  if (source instanceof Map) return new Map([...source].map(([part, inner]) => [part, structuredCopy(inner)]));
  return Array.isArray(source) ? source.map(structuredCopy) : source;
}

function expectSame(actual: Doc, expected: Doc): void {
  const sorted = (doc: Doc): Doc => new Map([...doc].sort(([a], [b]) => (a < b ? -1 : 1)));
  expect(encodeDocument(sorted(actual)).equals(encodeDocument(sorted(expected)))).toBe(true);
}

it('an update by a pipeline, replayed from its description, gives the same document', () => {
  fc.assert(
    fc.property(stored, stored, (before, target) => {
      const literal: Value = new Map([['$literal', target]]);
      const { after, kind } = applyUpdate(before, [new Map([['$replaceWith', literal]])]);
      if (kind === 'none') return;
      const description = describeUpdate(before, after);
      if (description !== 'replacement') expectSame(replay(before, description), after);
    }),
    { numRuns: 500 },
  );
});

it('an update by operators, replayed from its description, gives the same document to the byte', () => {
  const operators = fc.oneof(
    fc.tuple(name, leaf).map(([field, operand]) => new Map<string, Value>([['$set', new Map([[field, operand]])]])),
    fc
      .tuple(name, name, leaf)
      .map(([field, inner, operand]) => new Map<string, Value>([['$set', new Map([[`${field}.${inner}`, operand]])]])),
    fc
      .tuple(name, fc.nat(5), leaf)
      .map(([field, index, operand]) => new Map<string, Value>([['$set', new Map([[`${field}.${index}`, operand]])]])),
    name.map((field) => new Map<string, Value>([['$unset', new Map([[field, '']])]])),
    fc.tuple(name, leaf).map(([field, operand]) => new Map<string, Value>([['$push', new Map([[field, operand]])]])),
    fc
      .tuple(name, leaf)
      .map(([field, operand]) => new Map<string, Value>([['$addToSet', new Map([[field, operand]])]])),
    name.map((field) => new Map<string, Value>([['$pop', new Map([[field, new Int32(1)]])]])),
  );
  fc.assert(
    fc.property(stored, operators, (before, update) => {
      let after: Doc;
      try {
        after = applyUpdate(before, update).after;
      } catch {
        return;
      }
      const description = describeUpdate(before, after, update);
      if (description === 'replacement') throw new Error('operators are never a replacement');
      expect(encodeDocument(replayPadded(before, description)).equals(encodeDocument(after))).toBe(true);
    }),
    { numRuns: 1500 },
  );
});

/** As `replay`; elements between the old end of an array and a new one are null. */
function replayPadded(before: Doc, description: UpdateDescription): Doc {
  const after = replay(before, description);
  const filled = (source: Value): Value => {
    if (source instanceof Map) return new Map([...source].map(([part, inner]) => [part, filled(inner)]));
    return Array.isArray(source) ? Array.from(source, (item: Value | undefined) => filled(item ?? null)) : source;
  };
  return filled(after) as Doc;
}
