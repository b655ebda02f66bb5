import { compareValues } from '@convoy/simulator/internal/bson/compare';
import { decodeDocument } from '@convoy/simulator/internal/bson/decode';
import type { Doc, Value } from '@convoy/simulator/internal/bson/value';
import { doc } from '@convoy/simulator/internal/node/doc-fields';
import { ServerVersion } from '@convoy/simulator/internal/node/server-version';
import { valueAtPath } from '@convoy/simulator/internal/query/document-path';
import { compileMatcher } from '@convoy/simulator/internal/query/matcher';
import fc from 'fast-check';
import { BSON, BSONRegExp, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { actionOf } from '../../../src/apply/action.js';
import { indexKeyFilter } from '../../../src/catalog/index-key-filter.js';
import { parseDocumentFilter } from '../../../src/catalog/namespace-filter.js';
import { matchingAll } from '../../../src/cluster/reads.js';
import { DocumentBuilder } from '../../../src/bson/build.js';
import { elementType } from '../../../src/bson/element-type.js';
import { isLossless } from '../../../src/bson/sent-value.js';
import { encodeValue, findElement, RawValue, readDocument } from '../../../src/bson/scan.js';
import { fullKeyFilter, upsertStatesKey } from '../../../src/bson/shard-key.js';
import { idFilter } from '../../../src/bson/id.js';
import { upsertStatement } from '../../../src/copy/partition-writer.js';
import { fullKeyOf } from '../../../src/reread/reread-batch.js';
import { bsonValues } from '../bson/values.js';
import { changeOf, collectionOf } from '../model/parts.js';

const key = [
  { field: 'sk', hashed: false },
  { field: 'at.place', hashed: true },
];
const collection = collectionOf({ sourceKey: key, destinationKey: key });
const undefinedValue = new RawValue(elementType.undefined, new Uint8Array(0));

/** Documents with the names of operators and references. */
const conditions = fc
  .uniqueArray(
    fc.tuple(
      fc.constantFrom('$gt', '$eq', '$ne', '$in', '$exists', '$type', '$not', '$x', '$ref', '$id', '$db', 'a'),
      fc.oneof(bsonValues, fc.constant('a'), fc.constant(['abc'])),
    ),
    { minLength: 1, maxLength: 3, selector: ([name]) => name },
  )
  .map((fields) => new Map(fields));
const regexes = fc.constantFrom(new BSONRegExp('^a', ''), new BSONRegExp('(', ''), new BSONRegExp('', 'i'));
const isNoArray = (value: unknown): boolean => !Array.isArray(value);
/** What a shard key can hold: all but arrays. */
const keyValues = fc.oneof(
  fc.oneof(conditions, regexes, fc.constantFrom('a', 'abc', null), bsonValues.filter(isNoArray)).map(encodeValue),
  fc.constant(undefinedValue),
);

interface Drawn {
  id: RawValue;
  sk: RawValue | null;
  place: RawValue | null;
}
/** Few `_id`s, so that documents share them; some that servers have long refused. */
const drawn: fc.Arbitrary<Drawn> = fc.record({
  id: fc.constantFrom<unknown>(1, { a: 1 }, 'abc', new BSONRegExp('^a', ''), { $gt: 'a' }).map(encodeValue),
  sk: fc.option(keyValues),
  place: fc.option(keyValues),
});

function documentOf({ id, sk, place }: Drawn): Buffer {
  const builder = new DocumentBuilder().raw('_id', id);
  if (sk !== null) builder.raw('sk', sk);
  builder.begin('at');
  if (place !== null) builder.raw('place', place);
  return builder.end().finish();
}

/** Change events have null where a document has no field, and paths as names. */
function documentKeyOf({ id, sk, place }: Drawn): Buffer {
  const none = encodeValue(null);
  return new DocumentBuilder()
    .raw('sk', sk ?? none)
    .raw('at.place', place ?? none)
    .raw('_id', id)
    .finish();
}

/** Whether two documents have the same place in indexes on shard key and `_id`. */
function areSame(one: Doc, other: Doc): boolean {
  return [['sk'], ['at', 'place'], ['_id']].every(
    (path) => compareValues(valueAtPath(one, path) ?? null, valueAtPath(other, path) ?? null) === 0,
  );
}

function matches(filter: Uint8Array, document: Doc, release: string): boolean {
  return compileMatcher(decodeDocument(filter), undefined, { version: ServerVersion.parse(release) })(document);
}

describe('a filter that holds the key of one document', () => {
  const filters: Readonly<Record<string, (one: Drawn) => Uint8Array>> = {
    'of a document': (one) => fullKeyFilter(documentOf(one), key, one.id),
    'of a re-read': (one) => fullKeyOf(collection, documentOf(one)),
    'of a deleted one': (one) => {
      const event = changeOf(1, 5n, { operation: 'delete', documentKey: documentKeyOf(one), id: one.id });
      const action = actionOf(event, collection, { watermark: 0n, readEnd: null });
      if (action.kind === 'reread') throw new Error(action.reason);
      return action.filter;
    },
    'of an upsert': (one) => {
      const statement = upsertStatement(documentOf(one), collection);
      const query = findElement(statement, 'q');
      if (query === null) throw new Error('no query');
      return readDocument(statement, query);
    },
  };

  it.each(Object.entries(filters))('%s matches it and no other', (_what, filterOf) => {
    fc.assert(
      fc.property(drawn, fc.array(drawn, { maxLength: 6 }), fc.constantFrom('7.0', '8.0'), (one, others, release) => {
        const filter = filterOf(one);
        const own = decodeDocument(documentOf(one));
        for (const document of [own, ...others.map((other) => decodeDocument(documentOf(other)))])
          expect(matches(filter, document, release)).toBe(areSame(own, document));
      }),
      { numRuns: 2_000 },
    );
  });

  it('puts the values of the document into what an upsert makes of it', () => {
    fc.assert(
      fc.property(drawn, (one) => {
        fc.pre(upsertStatesKey(documentOf(one), key));
        const filter = decodeDocument(fullKeyFilter(documentOf(one), key, one.id));
        const stated = (field: string): Value => {
          const value = filter.get(field) ?? null;
          return value instanceof Map && value.has('$eq') ? (value.get('$eq') ?? null) : value;
        };
        expect(compareValues(stated('sk'), valueAtPath(decodeDocument(documentOf(one)), ['sk']) ?? null)).toBe(0);
      }),
    );
  });
});

it('a filter of many _ids matches these and no other', () => {
  const ids = fc.oneof(conditions, regexes, bsonValues.filter(isNoArray)).map(encodeValue).filter(isLossless);
  fc.assert(
    fc.property(fc.array(ids, { minLength: 1, maxLength: 8 }), fc.array(ids, { maxLength: 4 }), (wanted, others) => {
      const matcher = compileMatcher(decodeDocument(BSON.serialize(idFilter(wanted))));
      const decoded = (id: RawValue): Value =>
        decodeDocument(new DocumentBuilder().raw('_id', id).finish()).get('_id') ?? null;
      for (const id of [...wanted, ...others].map(decoded))
        expect(matcher(doc(['_id', id]))).toBe(wanted.some((one) => compareValues(decoded(one), id) === 0));
    }),
    { numRuns: 2_000 },
  );
});

const decoded = (value: RawValue): Value =>
  decodeDocument(new DocumentBuilder().raw('v', value).finish()).get('v') ?? null;

/** The document filter of a user; null where it is refused, as for names that JavaScript would order anew. */
function documentFilterOf(value: unknown): Document | null {
  const filter = BSON.EJSON.stringify({ sk: { $eq: value } }, { relaxed: false });
  try {
    return parseDocumentFilter({ database: 'shop', collection: 'orders', filter });
  } catch (error) {
    expect(error).toMatchObject({ error: 'documentFilterInvalid' });
    return null;
  }
}

it('a document filter beside _ids matches those of their documents that it matches alone', () => {
  // Extended JSON writes a reference in one order of its fields.
  const values = fc.oneof(
    conditions.filter((value) => !value.has('$ref')),
    regexes,
    bsonValues.filter(isNoArray),
  );
  const ids = fc.oneof(conditions, regexes, fc.constantFrom('a', 1)).map(encodeValue);
  fc.assert(
    fc.property(values, fc.array(ids, { minLength: 1 }), fc.array(fc.tuple(ids, keyValues)), (value, listed, rows) => {
      const parsed = documentFilterOf(value);
      fc.pre(parsed !== null);
      const filter = BSON.serialize(matchingAll(parsed, idFilter(listed)).filter ?? {});
      for (const [id, sk] of [...rows, ...listed.map((one) => [one, encodeValue(value)] as const)]) {
        const isListed = listed.some((one) => compareValues(decoded(one), decoded(id)) === 0);
        const isWanted = compareValues(decoded(sk), decoded(encodeValue(value))) === 0;
        const document = decodeDocument(documentOf({ id, sk, place: null }));
        expect(matches(filter, document, '8.0')).toBe(isListed && isWanted);
      }
    }),
    { numRuns: 1_000 },
  );
});

/** A key of an index as a server reports it and the driver hands it over: not every value stays the same. */
function reportedKey({ sk, place }: Drawn): { key: Document; isKept: boolean } {
  const fields = new Map([
    ['sk', sk ?? encodeValue(null)],
    ['at.place', place ?? encodeValue(null)],
  ]);
  const builder = new DocumentBuilder();
  for (const [path, value] of fields) builder.raw(path, value);
  const key = BSON.deserialize(builder.finish(), { bsonRegExp: true });
  const isKept = [...fields].every(
    ([path, value]) => key[path] === undefined || compareValues(decoded(encodeValue(key[path])), decoded(value)) === 0,
  );
  return { key, isKept };
}

it('the filter of a duplicate key matches the documents that have it, and no other', () => {
  fc.assert(
    fc.property(drawn, fc.array(drawn, { maxLength: 6 }), fc.constantFrom('5.0', '8.0'), (one, others, release) => {
      const { key: found, isKept } = reportedKey(one);
      const filter = BSON.serialize(indexKeyFilter(found));
      const own = decodeDocument(documentOf(one));
      for (const other of [one, ...others]) {
        const document = decodeDocument(documentOf({ ...other, id: one.id }));
        const hasKey = areSame(own, document);
        // What the driver changes is not found; nothing else is found in its place.
        if (isKept || !hasKey) expect(matches(filter, document, release)).toBe(hasKey);
      }
    }),
    { numRuns: 1_000 },
  );
});

it.each([
  ['undefined, which no query may contain', { at: { place: [] } }, { 'at.place': undefined }, true],
  ['undefined, and not what has no field', {}, { 'at.place': undefined }, false],
  ['null, and not undefined', { at: { place: [] } }, { 'at.place': null }, false],
  ['that of a part of all documents', { sk: 1, at: { place: 2 } }, { sk: 1 }, false],
] as const)('a duplicate key may be %s', (_what, document, keyValue, isFound) => {
  const filter = BSON.serialize(indexKeyFilter(keyValue, { 'at.place': { $ne: 2 } }));
  expect(matches(filter, decodeDocument(BSON.serialize(document)), '5.0')).toBe(isFound);
});
