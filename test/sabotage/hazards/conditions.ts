import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

const followed = integrationTest(
  'kinds/condition-shard-keys.test.ts',
  'documents whose shard-key values look like conditions are copied, followed and re-read; verified: %s',
);
const distributed = integrationTest(
  'kinds/condition-shard-keys.test.ts',
  'a replica set with such values is distributed by bounds that zones take',
);
const oneDocument = instanceTest('apply/action-filters.test.ts', '%s matches it and no other');

/** Values of documents in the queries about them. */
export const conditionHazards: readonly Hazard[] = [
  {
    number: 138,
    hazard:
      "A shard-key value looks like a condition, such as `/^a/` or `{$gt: 'a'}`: a delete or update meets the " +
      'document with the same `_id` on another shard; servers refuse upserts and zones',
    handling:
      'Filters hold such values under `$eq`. Instead of an upsert the document is re-read, removed and inserted. No ' +
      'range ends at such a value.',
    sabotages: [
      {
        takesOut: 'regular expressions',
        file: instance('bson/sent-value.ts'),
        symbol: 'isConditionAt',
        find: 'if (type === elementType.regex) return true;',
        replace: 'if (type === elementType.regex) return false;',
        tests: [
          instanceTest('bson/sent-value.test.ts', 'would be a condition, and bounds no zone: %j'),
          oneDocument,
          followed,
        ],
      },
      {
        takesOut: 'documents with operators',
        file: instance('bson/sent-value.ts'),
        symbol: 'isConditionAt',
        find: 'if (isEmpty || bytes[start + 5] !== dollar) return false;',
        replace: 'if (isEmpty || bytes[start + 5] !== dollar || type === elementType.document) return false;',
        tests: [
          instanceTest('bson/sent-value.test.ts', 'would be a condition, and bounds no zone: %j'),
          oneDocument,
          followed,
        ],
      },
      {
        takesOut: 'the equality',
        file: instance('bson/shard-key.ts'),
        symbol: 'addEquality',
        find: 'isCondition(value) ?',
        replace: 'isCondition(value) && field.length === 0 ?',
        tests: [
          instanceTest('bson/shard-key.test.ts', 'holds what looks like a condition as a value: %j'),
          oneDocument,
          followed,
        ],
      },
      {
        takesOut: 'the equality of an `_id` in an event',
        file: instance('apply/action.ts'),
        symbol: 'isFilter',
        find: 'return !isConditionAt(documentKey, type, start) &&',
        replace: 'return !(isConditionAt(documentKey, type, start) && documentKey.length === 0) &&',
        tests: [oneDocument],
      },
      {
        takesOut: 'the exceptions from lists of `_id`s',
        file: instance('bson/id.ts'),
        symbol: 'idFilter',
        find: 'else if (isCondition(id))',
        replace: 'else if (isCondition(id) && id.type < 0)',
        tests: [instanceTest('apply/action-filters.test.ts', 'a filter of many _ids matches these and no other')],
      },
      {
        takesOut: 'the re-read of what no upsert can name',
        file: instance('bson/shard-key.ts'),
        symbol: 'upsertStatesKey',
        find: '&& isKeyBound(rawValue(document, element));',
        replace: '&& (isKeyBound(rawValue(document, element)) || document.length > 0);',
        tests: [instanceTest('bson/shard-key.test.ts', 'holds what looks like a condition as a value: %j'), followed],
      },
      {
        takesOut: 'the choice among sampled values',
        file: instance('catalog/distribution.ts'),
        symbol: 'sampleKeys',
        find: 'isLossless(value) && isKeyBound(value)',
        replace: 'isLossless(value) && (isKeyBound(value) || value.type > 0)',
        tests: [instanceTest('catalog/distribution.test.ts', 'takes no bound that zones do not take'), distributed],
      },
      {
        takesOut: 'the choice among bounds of chunks',
        file: instance('catalog/distribution.ts'),
        symbol: 'isSendable',
        find: 'isKeyBound(rawValue(bound, element))',
        replace: 'isKeyBound(rawValue(bound, element)) || bound.length > 0',
        tests: [
          instanceTest('catalog/distribution.test.ts', 'joins ranges that meet at a bound that zones do not take: %j'),
        ],
      },
    ],
  },
];
