import { describe, expect, it } from 'vitest';
import { toExtendedJson } from '../../extended-json.js';
import type { Doc, Value } from '../../../src/bson/value.js';
import { equalityFields } from '../../../src/query/bounds.js';
import { compileMatcher } from '../../../src/query/matcher.js';
import { applyUpdate, isOperatorUpdate } from '../../../src/update/apply.js';
import { describeUpdate } from '../../../src/update/describe.js';
import { corpusSteps, type CorpusStep } from '../corpus.js';
import { doc, value } from '../json.js';

type Json = Record<string, unknown>;

interface Change {
  name: string;
  updates: Json[];
  events: Json[];
}

/** The recorded writes of one operation, and the events a stream of the cluster showed for it. */
function recordedChanges(): { documents: Doc[]; changes: Change[] } {
  const documents: Doc[] = [];
  const changes: Change[] = [];
  let note = '';
  for (const step of corpusSteps('04')) {
    note = step.note ?? note;
    if (Array.isArray(step.command?.documents)) documents.push(...(step.command.documents as Json[]).map(doc));
    if (Array.isArray(step.command?.updates))
      changes.push({ name: note, updates: step.command.updates as Json[], events: [] });
    const last = changes.at(-1);
    if (last?.name === note) last.events.push(...eventsOf(step));
  }
  return { documents, changes };
}

function eventsOf(step: CorpusStep): Json[] {
  const getMore = step.command?.getMore as Json | undefined;
  if (getMore?.cursorOfStep !== 4) return [];
  const cursor = step.reply?.cursor as { nextBatch: Json[] };
  return cursor.nextBatch.filter(({ operationType }) => operationType === 'update' || operationType === 'replace');
}

function asJson(description: ReturnType<typeof describeUpdate>): string {
  if (description === 'replacement') return 'replacement';
  const { updatedFields, removedFields, truncatedArrays } = description;
  const truncated = truncatedArrays.map(({ field, newSize }) => ({ field, newSize: toExtendedJson(newSize) }));
  return JSON.stringify({ updatedFields: toExtendedJson(updatedFields), removedFields, truncatedArrays: truncated });
}

/** Applies an update to every document its filter finds and returns what a stream would show of each. */
function perform(documents: Doc[], statement: Json): string[] {
  const query = doc(statement.q as Json);
  const update = value(statement.u) as Doc | Doc[];
  const matches = compileMatcher(query);
  const said: string[] = [];
  for (const [index, before] of documents.entries()) {
    if (!matches(before)) continue;
    const { after, kind } = applyUpdate(before, update);
    documents[index] = after;
    const operators = !Array.isArray(update) && isOperatorUpdate(update) ? update : undefined;
    if (kind === 'delta') said.push(asJson(describeUpdate(before, after, operators)));
    if (kind === 'replace') said.push(JSON.stringify(toExtendedJson(after)));
  }
  return said;
}

describe('updates of the corpus give the recorded events', () => {
  const { documents, changes } = recordedChanges();
  const compared = changes.filter(
    ({ events, updates }) => events.length > 0 && updates.every((statement) => statement.upsert === undefined),
  );

  it('has such updates', () => {
    expect(compared.length).toBeGreaterThanOrEqual(8);
  });

  it('one after another', () => {
    const present = documents.slice(0, 2);
    for (const { name, updates, events } of compared) {
      if (name.includes('multi update'))
        present.push(...documents.filter((document) => [4, 5, 6].includes(Number(document.get('_id')))));
      const said = updates.flatMap((statement) => perform(present, statement));
      const expected = events.map((event) => JSON.stringify(event.updateDescription ?? event.fullDocument));
      expect({ name, events: said }).toEqual({ name, events: expected });
    }
  });
});

it('the plain replica set logged a short document whole and a new parent as one field', () => {
  const before = doc({ _id: 2, a: [1, 2, 3] });
  expect(describeUpdate(before, applyUpdate(before, [doc({ $set: { a: { $slice: ['$a', 2] } } })]).after)).toBe(
    'replacement',
  );
  const other = doc({ _id: 1, a: 1 });
  const update = doc({ $set: { 'b.c': 1 }, $unset: { a: 1 } });
  expect(asJson(describeUpdate(other, applyUpdate(other, update).after, update))).toBe(
    '{"updatedFields":{"b":{"c":{"$numberInt":"1"}}},"removedFields":["a"],"truncatedArrays":[]}',
  );
});

it('equality in filters is seen through operators and $and', () => {
  const fields = equalityFields(
    doc({ a: 1, b: { $eq: 2 }, c: { $gt: 1 }, $and: [{ d: { $in: [4] } }], e: { $in: [1, 2] } }),
  );
  expect(Object.fromEntries([...fields].map(([name, fixed]: [string, Value]) => [name, Number(fixed)]))).toEqual({
    a: 1,
    b: 2,
    d: 4,
  });
});
