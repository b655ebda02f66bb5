import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import type { Document } from 'mongodb';
import { expect, test } from 'vitest';
import type { Retrying } from '../../../../src/async/retry.js';
import { idOrNull } from '../../../../src/bson/id.js';
import { compareRaw } from '../../../../src/bson/order.js';
import { encodeValue, type RawValue } from '../../../../src/bson/scan.js';
import { classify } from '../../../../src/cluster/failure.js';
import { digestOf } from '../../../../src/verify/compare/compare-documents.js';
import { lookupName } from '../../../../src/verify/compare/find-documents.js';
import { compareRange, type Finding } from '../../../../src/verify/compare/first-comparison.js';
import { OrderedDocuments } from '../../../../src/verify/compare/ordered-documents.js';
import { bsonValues } from '../../bson/values.js';
import { evenly } from '../evenly.js';
import { RangeClient } from '../range-client.js';

const { signal } = new AbortController();

/** Retries at once. */
const repeating: Retrying = async (_what, operation) => {
  for (;;) {
    try {
      return await operation();
    } catch (error) {
      if (classify(error) !== 'cursorLost') throw error;
      await wait(0);
    }
  }
};

/**
 * Of one `_id`: the values of the documents on each side. Two equal ones are impossible: shards divide documents by
 * their fields.
 */
const values = fc.uniqueArray(fc.integer({ min: 0, max: 2 }), { maxLength: 2 });
const entries = fc.uniqueArray(
  fc.record({ id: bsonValues, source: values, destination: values, equal: fc.boolean() }),
  {
    maxLength: 40,
    selector: ({ id }) => lookupName(encodeValue(id)),
  },
);

function groupsOf(client: RangeClient): Map<string, string> {
  const groups = new Map<string, Uint8Array[]>();
  for (const document of client.documents) {
    const name = lookupName(idOrNull(document));
    groups.set(name, [...(groups.get(name) ?? []), document]);
  }
  return new Map([...groups].map(([name, documents]) => [name, digestOf(documents)]));
}

test('finds every difference of two reads, whatever the batches and the lost cursors', async () => {
  await fc.assert(
    fc.asyncProperty(entries, fc.nat(), async (chosen, seed) => {
      const random = evenly(seed);
      const documents = (of: (entry: (typeof chosen)[number]) => readonly number[]): Document[] =>
        chosen.flatMap((entry) => of(entry).map((value) => ({ _id: entry.id, value })));
      const sides = {
        source: new RangeClient(
          documents((entry) => entry.source),
          random,
          0.2,
        ),
        destination: new RangeClient(
          documents((entry) => (entry.equal ? [...entry.source].reverse() : entry.destination)),
          random,
          0.2,
        ),
      };
      const read = { database: 'db', collection: 'coll', documentBytes: 0, lower: null, upper: null, after: 1n };
      const [source, destination] = [
        new OrderedDocuments(sides.source, read, repeating, signal),
        new OrderedDocuments(sides.destination, read, repeating, signal),
      ];
      const found: Finding[] = [];
      const bounds: RawValue[] = [];
      await compareRange(source, destination, {
        found: (findings) => Promise.resolve(void found.push(...findings)),
        reached: (next) => {
          expect(found.every(({ id }) => compareRaw(id, next) < 0 || compareRaw(id, next) === 0)).toBe(true);
          return Promise.resolve(void bounds.push(next));
        },
      });
      await Promise.all([source.close(), destination.close()]);
      const [here, there] = [groupsOf(sides.source), groupsOf(sides.destination)];
      const expected = [...new Set([...here.keys(), ...there.keys()])].filter(
        (name) => here.get(name) !== there.get(name),
      );
      expect(found.map(({ id }) => lookupName(id)).sort()).toEqual(expected.sort());
      for (const { id, kind } of found) {
        if (kind === 'missingOnDestination') expect(here.has(lookupName(id))).toBe(true);
        if (kind === 'extraOnDestination') expect(there.has(lookupName(id))).toBe(true);
      }
      expect(
        bounds.every((bound, position) => position === 0 || compareRaw(bounds[position - 1] ?? bound, bound) <= 0),
      ).toBe(true);
      expect(source.takenDocuments).toBe(sides.source.documents.length);
    }),
    { numRuns: 300 },
  );
});

test('a range has its bounds', async () => {
  const client = () =>
    new RangeClient(
      Array.from({ length: 20 }, (_, _id) => ({ _id })),
      () => 0.5,
      0,
    );
  const read = {
    database: 'db',
    collection: 'coll',
    documentBytes: 0,
    lower: encodeValue(5),
    upper: encodeValue(9),
    after: 1n,
  };
  const [source, destination] = [
    new OrderedDocuments(client(), read, repeating, signal),
    new OrderedDocuments(new RangeClient([], () => 0, 0), read, repeating, signal),
  ];
  const found: number[] = [];
  await compareRange(source, destination, {
    found: (findings) =>
      Promise.resolve(void found.push(...findings.map(({ id }) => Buffer.from(id.bytes).readInt32LE(0)))),
    reached: () => Promise.resolve(),
  });
  expect(found).toEqual([5, 6, 7, 8]);
});
