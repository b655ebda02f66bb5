import { compareValues } from '@convoy/simulator/internal/bson/compare';
import { decodeDocument } from '@convoy/simulator/internal/bson/decode';
import type { Doc, Value } from '@convoy/simulator/internal/bson/value';
import { doc } from '@convoy/simulator/internal/node/doc-fields';
import { ServerVersion } from '@convoy/simulator/internal/node/server-version';
import { valueAtPath } from '@convoy/simulator/internal/query/document-path';
import { compileMatcher } from '@convoy/simulator/internal/query/matcher';
import fc from 'fast-check';
import { BSON, BSONRegExp } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { actionOf } from '../../../src/apply/action.js';
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
