import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Identities and their order: what an index takes for equal, and in which order it holds it. */
export const keyHazards: readonly Hazard[] = [
  {
    number: 34,
    hazard: 'Range queries are type-bracketed: mixed types of `_id` are skipped without an error, and NaN is corrupted',
    handling:
      'Partitions are ranges of the `_id` index from MinKey to MaxKey, read by `min`, `max` and `hint`. Convoy ' +
      'compares values as the index does.',
    sabotages: [
      {
        takesOut: 'index bounds; a filter is taken instead',
        file: instance('cluster/range-read.ts'),
        symbol: 'openIdRange',
        find: '{ min: { _id: losslessValue(min) } }',
        replace: '{ filter: { _id: { $gte: losslessValue(min) } } }',
        tests: [instanceTest('cluster/reading.test.ts', 'has index bounds, one time and the order of _id')],
      },
      {
        takesOut: 'the range from MinKey to MaxKey',
        file: instance('store/partition.ts'),
        symbol: 'wholeRange',
        find: 'lower: minKey, upper: maxKey',
        replace: 'lower: minKey, upper: minKey',
        tests: [instanceTest('store/partition-table.test.ts', 'cover every _id from MinKey to MaxKey without gaps')],
      },
      {
        takesOut: 'numbers of all types as one place of the order',
        file: instance('bson/order.ts'),
        symbol: 'compareRaw',
        find: 'const types = place - canonicalType(b.type);',
        replace: 'const types = a.type - b.type;',
        tests: [instanceTest('bson/id.test.ts', 'is shared exactly by the values that the order finds equal')],
      },
    ],
  },
  {
    number: 50,
    hazard: 'Shard-key updates, missing shard-key fields (null), a collation beside the shard key',
    handling:
      'Filters hold the full document key, null for missing fields, under the simple collation. Documents whose key ' +
      'changes are re-read.',
    sabotages: [
      {
        takesOut: 'the null',
        file: instance('bson/shard-key.ts'),
        symbol: 'plainValue',
        find: 'return element === null ? nullValue : rawValue(bytes, element);',
        replace: 'return element === null ? hashedValue(nullValue) : rawValue(bytes, element);',
        tests: [instanceTest('bson/shard-key.test.ts', 'reads dotted fields by path, and null for missing ones')],
      },
      {
        takesOut: 'the simple collation of write batches',
        file: instance('apply/send-batch.ts'),
        symbol: 'statementsOf',
        find: 'collection.collated && collection.destinationKey.length > 0',
        replace: 'collection.collated && collection.destinationKey.length > 100',
        tests: [
          instanceTest(
            'apply/send-batch.test.ts',
            'filters of a sharded collection with a collation name the simple one',
          ),
        ],
      },
      {
        takesOut: 'the simple collation of the copy',
        file: instance('copy/partition-writer.ts'),
        symbol: 'upsertStatement',
        find: 'collated && destinationKey.length > 0',
        replace: 'collated && destinationKey.length > 100',
        tests: [
          instanceTest(
            'copy/partition-writer.test.ts',
            'filters of a sharded collection with a collation name the simple one',
          ),
        ],
      },
      {
        takesOut: 'the re-read for changes of the shard key',
        file: instance('apply/action.ts'),
        symbol: 'update',
        find: "if (touched) return { kind: 'reread', reason: 'shardKeyChange' };",
        replace: 'void touched;',
        tests: [instanceTest('apply/action.test.ts', 'is a re-read: %s')],
      },
      {
        takesOut: "the re-read for updates of the destination's shard key",
        file: instance('apply/action.ts'),
        symbol: 'update',
        find: 'touchesKey(delta, collection.sourceKey) || touchesKey(delta, collection.destinationKey)',
        replace: 'touchesKey(delta, collection.sourceKey)',
        tests: [instanceTest('apply/action.test.ts', 're-reads an update of the shard key where %s')],
      },
      {
        takesOut: "the re-read for updates of the source's shard key",
        file: instance('apply/action.ts'),
        symbol: 'update',
        find: 'touchesKey(delta, collection.sourceKey) || touchesKey(delta, collection.destinationKey)',
        replace: 'touchesKey(delta, collection.destinationKey)',
        tests: [instanceTest('apply/action.test.ts', 're-reads an update of the shard key where %s')],
      },
    ],
  },
  {
    number: 53,
    hazard: 'Aggregates have no index bounds, and `$match` brackets types',
    handling:
      'Samples, the only aggregates over documents, are drawn from the whole collection. Convoy compares them with ' +
      'the range in index order. The verifier reads ranges by `find` with index bounds.',
    sabotages: [
      {
        takesOut: 'the comparison with the range',
        file: instance('copy/plan-copy.ts'),
        symbol: 'startingPoints',
        find: '.filter((id) => isInside(id, range))',
        replace: '.filter((id) => id.bytes.length >= 0 || isInside(id, range))',
        tests: [
          instanceTest(
            'copy/plan-copy.test.ts',
            'starting points lie inside the range, and the sample of a range is large enough for all readers',
          ),
        ],
      },
    ],
  },
  {
    number: 55,
    hazard: 'Two `_id`s that differ in bytes are equal to the index (1 and 1.0, symbol and string, collations)',
    handling: 'Apply workers, write batches, partitions and the re-read set go by id class.',
    sabotages: [
      {
        takesOut: 'numbers of all types as one class',
        file: instance('bson/id.ts'),
        symbol: 'classText',
        find: 'case elementType.decimal: return `#${numberText(value)}`;',
        replace: 'case elementType.decimal: return `#${value.type}${numberText(value)}`;',
        tests: [instanceTest('bson/id.test.ts', '%o and its equals have one class')],
      },
      {
        takesOut: 'collations',
        file: instance('bson/id.ts'),
        symbol: 'idClass',
        find: 'if (collated && containsString(value)) return collatedClass;',
        replace: 'void [collated, containsString, collatedClass];',
        tests: [
          instanceTest(
            'bson/id.test.ts',
            'under a collation is the same for all values with a string, and distinct for others',
          ),
        ],
      },
      {
        takesOut: 'another _id that a collation finds, in a re-read',
        file: instance('store/fenced-writer.ts'),
        symbol: 'rereadOfRefusal',
        find: "if (collated && code === immutableFieldCode) return 'duplicateKey';",
        replace: 'void [collated, immutableFieldCode];',
        tests: [
          instanceTest(
            'apply/send-batch.test.ts',
            "is re-read when the collection's collation matches a document with another _id",
          ),
        ],
      },
      {
        takesOut: 'the one statement per class in a write batch',
        file: instance('apply/write-batch.ts'),
        symbol: 'addTo',
        find: 'const before = byClass.get(routed.workerClass);',
        replace:
          'const before = byClass.get(`${routed.workerClass}/${event.time}`);\n' +
          '  routed.workerClass += `/${event.time}`;',
        tests: [
          instanceTest(
            'apply/apply-workers-batches.test.ts',
            'has at most one statement per id class; the next batch waits for all answers',
          ),
        ],
      },
      {
        takesOut: 'the classes between which a partition is closed',
        file: instance('copy/copy-partition.ts'),
        symbol: 'differ',
        find: 'return idClass(a, false) !== idClass(b, false);',
        replace: 'return idClass(idOf(a), false) !== idClass(idOf(b), false) || a !== b;',
        tests: [
          instanceTest(
            'copy/copy-partition-closing.test.ts',
            'a partition is not split between documents of one id class',
          ),
        ],
      },
      {
        takesOut: 'the class of a document to re-read',
        file: instance('store/reread-set.ts'),
        symbol: 'newEntry',
        find: 'idClass: idClass(id, false), dropped: time',
        replace: "idClass: Buffer.from(id.bytes).toString('hex'), dropped: time",
        tests: [instanceTest('store/reread-set.test.ts', 'stands for all _ids of its id class')],
      },
    ],
  },
  {
    number: 74,
    hazard:
      'A document whose `_id` is MaxKey is outside of every range given by `min` and `max`: their bounds are ' +
      'exclusive there. Where `_id` is the ranged shard key, routers of 8.0 find nothing from MaxKey on',
    handling:
      'Copy and verifier read a range without an upper bound to its end by a second find for MaxKey, by its value. ' +
      'They leave it out where MaxKey was read before, as of clustered collections. Only the last partition ends at ' +
      'MaxKey.',
    sabotages: [
      {
        takesOut: 'the second find',
        file: instance('cluster/range-read.ts'),
        symbol: 'openIdRange',
        find: "return 'min' in lower && !('max' in upper) ?",
        replace: "return 'min' in lower && 'max' in upper ?",
        tests: [
          instanceTest(
            'copy/partition-reader.test.ts',
            'every document of a partition is read once, with lost cursors too: %s',
          ),
          integrationTest('cluster/last-id.test.ts', 'a range is read to its last _id, MaxKey included'),
        ],
      },
      {
        takesOut: 'the value of MaxKey in the second find',
        file: instance('cluster/range-read.ts'),
        symbol: 'openIdRange',
        find: '{ _id: new MaxKey() })',
        replace: '{ _id: { $gte: new MaxKey() } })',
        tests: [
          integrationTest(
            'cluster/last-id.test.ts',
            'and where _id is the ranged shard key, of which routers find nothing from MaxKey on (8.0)',
          ),
        ],
      },
      {
        takesOut: 'the look whether MaxKey was read, as of clustered collections',
        file: instance('cluster/range-read.ts'),
        symbol: 'seen',
        find: "findValue(last, '_id')?.type === elementType.maxKey",
        replace: "findValue(last, '_id')?.type === undefined",
        tests: [
          integrationTest(
            'cluster/last-id.test.ts',
            'of clustered collections, which show MaxKey from a lower bound on, each document is read once',
          ),
        ],
      },
      {
        takesOut: 'MaxKey as no bound of an index',
        file: instance('cluster/range-read.ts'),
        symbol: 'openIdRange',
        find: 'max === undefined || max.type === elementType.maxKey ?',
        replace: 'max === undefined ?',
        tests: [
          instanceTest(
            'copy/partition-reader.test.ts',
            'every document of a partition is read once, with lost cursors too: %s',
          ),
        ],
      },
      {
        takesOut: 'the inner bounds below MaxKey',
        file: instance('bson/id.ts'),
        symbol: 'mayBound',
        find: ' && id.type !== elementType.maxKey',
        replace: '',
        tests: [instanceTest('copy/partitions.test.ts', 'is not split at MaxKey, where its last range ends')],
      },
    ],
  },
  {
    number: 77,
    hazard:
      'A router omits the first `$` field of every document that it sorts, and refuses documents that are too large ' +
      'beside their sort values',
    handling:
      'Through a router, sorted documents are wrapped in a field. Documents that are too large beside their `_id` ' +
      'are read by it.',
    sabotages: [
      {
        takesOut: 'the read inside of a field, and by `_id`s',
        file: instance('cluster/driver/driver-node-client.ts'),
        symbol: 'openCursor',
        find: 'isRouter && isOrderedReading(command)',
        replace: 'isRouter && isOrderedReading({ ...command, find: undefined })',
        tests: [
          integrationTest('cluster/ordered-reading.test.ts', 'brings every field, also those whose names begin with $'),
          integrationTest(
            'cluster/ordered-reading.test.ts',
            'returns documents that are too large to be sorted together with their _id: %s, in batches of %i',
          ),
        ],
      },
      {
        takesOut: 'the read by `_id`s after the first part of a range',
        file: instance('cluster/driver/ordered-reading.ts'),
        symbol: 'next',
        find: 'const byIds = await CursorByIds.open(this.openOthers, this.command, this.#last, options);',
        replace:
          'throw error;\n const byIds = await CursorByIds.open(this.openOthers, this.command, this.#last, options);',
        tests: [
          integrationTest(
            'cluster/ordered-reading.test.ts',
            'returns documents that are too large to be sorted together with their _id: %s, in batches of %i',
          ),
        ],
      },
    ],
  },
  {
    number: 129,
    hazard:
      'A double and a decimal count as one `_id` although they differ behind the 34th digit: the re-read of one ' +
      "drops the other's change",
    handling: 'Doubles are compared with decimals by all of their digits, as servers do.',
    sabotages: [
      {
        takesOut: 'the digits behind the 34th',
        file: instance('bson/order.ts'),
        symbol: 'exactDouble',
        find: 'normalised(signed * 5n ** BigInt(-power), power);',
        replace: 'normalised((signed * 5n ** BigInt(-power)) / 10n ** 21n, power + 21);',
        tests: [
          instanceTest('bson/order.test.ts', '%o is below %o'),
          integrationTest(
            'kinds/numeric-ids.test.ts',
            'numbers that are one _id, or nearly, arrive with their types: the collection %s',
          ),
        ],
      },
    ],
  },
];
