import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

const movedAndBack = instanceTest(
  'catalog/compare-catalogs.test.ts',
  'finds chunks that moved there and back, but no splits, merges, renames or entries without versions',
);
const thereAndBack = integrationTest(
  'lifecycle/returned-chunk.test.ts',
  'a chunk that has moved there and back ends the migration by name %s',
);
const keepsOrder = instanceTest(
  'catalog/read-catalog.test.ts',
  'keeps the order of fields with numeric names wherever it matters, also when stored',
);

const undefinedKeys = [
  integrationTest(
    'kinds/undefined-shard-keys.test.ts',
    'documents whose shard-key value is undefined, null or missing are copied, followed, re-read and verified: %s',
  ),
];

const keysInsideId = integrationTest(
  'kinds/keys-inside-id.test.ts',
  'documents whose shard key lies inside of _id are copied, followed, re-read and verified',
);

/** Chunks, shard keys and what else has an order. */
export const shardingHazards: readonly Hazard[] = [
  {
    number: 84,
    hazard:
      'The value of a shard key is undefined: no query may name it, no upsert can give it, and before 8.0 null ' +
      'matches it too',
    handling:
      'Filters of whole keys match undefined by its type, and exclude it from null. Instead of an upsert the ' +
      'document is re-read, removed and inserted.',
    sabotages: [
      {
        takesOut: 'the match by type',
        file: instance('bson/shard-key.ts'),
        symbol: 'addCondition',
        find: 'if (value.type === elementType.undefined) builder',
        replace: 'if (value.type === elementType.undefined && field.length === 0) builder',
        tests: [
          instanceTest('bson/shard-key.test.ts', 'matches undefined by its type, since no query may contain it'),
          ...undefinedKeys,
        ],
      },
      {
        takesOut: 'the exclusion from null',
        file: instance('bson/shard-key.ts'),
        symbol: 'addCondition',
        find: 'else if (value.type === elementType.null) builder',
        replace: 'else if (value.type === elementType.null && field.length === 0) builder',
        tests: [
          instanceTest(
            'bson/shard-key.test.ts',
            'matches a missing field by null, and never undefined, which equals null on servers before 8.0: %j',
          ),
        ],
      },
      {
        takesOut: 'the rule that keys of events are filters only where their values stand for themselves',
        file: instance('apply/action.ts'),
        symbol: 'isFilter',
        find: 'if (!isPlainCondition(documentKey, type, start)) return false;',
        replace: 'if (!isPlainCondition(documentKey, type, start) && type < 0) return false;',
        tests: [
          instanceTest(
            'apply/write-batch-limits.test.ts',
            'a document whose shard key no upsert can name is re-read; others match it by the type of its value',
          ),
        ],
      },
      {
        takesOut: 'the re-read of what no upsert can name',
        file: instance('store/fenced-writer.ts'),
        symbol: 'rereadOfUpsert',
        find: 'return upsertStatesKey(document, destinationKey) ?',
        replace: 'return upsertStatesKey(document, destinationKey) || document.length > 0 ?',
        tests: [
          instanceTest(
            'apply/write-batch-limits.test.ts',
            'a document whose shard key no upsert can name is re-read; others match it by the type of its value',
          ),
          instanceTest(
            'copy/copy-partition-limits.test.ts',
            'a document whose shard key no upsert can name is re-read',
          ),
          ...undefinedKeys,
        ],
      },
      {
        takesOut: 'the zero timestamps of what is inserted',
        file: instance('reread/reread-batch.ts'),
        symbol: 'timesOf',
        find: 'if (step.document === null || !hasZeroTimestamp(step.document)) return [];',
        replace: 'if (step.document === null || hasZeroTimestamp(step.document)) return [];',
        tests: [
          instanceTest(
            'reread/rereader.test.ts',
            'is inserted, after a delete, when no upsert can name its shard key, and gets its zero timestamp',
          ),
        ],
      },
    ],
  },
  {
    number: 126,
    hazard:
      'A field of a shard key lies inside of `_id`: routers refuse a filter with both (61), and an upsert where the ' +
      'field is missing',
    handling:
      'The value of `_id` states what is inside of it, so that filters leave such fields out. Where one is missing, ' +
      'the document is re-read, removed and inserted.',
    sabotages: [
      {
        takesOut: 'the omission of fields that `_id` states',
        file: instance('bson/shard-key.ts'),
        symbol: 'isOfId',
        find: "return field === '_id' || field.startsWith('_id.');",
        replace: "return field === '_id' || field.startsWith('_id..');",
        tests: [
          instanceTest(
            'bson/shard-key.test.ts',
            'leaves to _id what is inside of it, because routers refuse filters with both',
          ),
          keysInsideId,
        ],
      },
      {
        takesOut: 'the re-read of documents without such a field',
        file: instance('bson/shard-key.ts'),
        symbol: 'upsertStatesKey',
        find: 'if (element === null) return !isOfId(field);',
        replace: 'if (element === null) return !(isOfId(field) && field.length === 0);',
        tests: [
          instanceTest(
            'bson/shard-key.test.ts',
            'cannot be made by an upsert where a field inside of _id is missing: %j',
          ),
          keysInsideId,
        ],
      },
      {
        takesOut: 'the rule that an event with such a field is no filter as it is',
        file: instance('apply/action.ts'),
        symbol: 'isFilter',
        find: 'if (isOfId(field)) return false;',
        replace: 'if (isOfId(field) && documentKey.length === 0) return false;',
        tests: [instanceTest('apply/action.test.ts', 'has `_id` alone where it contains the shard key'), keysInsideId],
      },
      {
        takesOut: 'the omission from a projection, which servers refuse for a path in another',
        file: instance('apply/send-batch.ts'),
        symbol: 'keyFields',
        find: 'filter((field) => !isOfId(field));',
        replace: 'filter((field) => !isOfId(field) || field.length > 3);',
        tests: [instanceTest('apply/send-batch-present.test.ts', 'reads `_id` alone where it contains the shard key')],
      },
    ],
  },
  {
    number: 91,
    hazard:
      '`movePrimary` shows the creation of a collection on its new shard before its documents arrive, unseen. ' +
      '`moveCollection` may show its event before the cluster knows the new place. A read in between is empty',
    handling:
      'A creation in the place of an existing collection is pending. It takes effect once the catalog shows it, at a ' +
      'time above everything done before.',
    sabotages: [
      {
        takesOut: 'the wait for the catalog',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'takeCreation',
        find: 'standing === undefined || standing.uuid === uuid',
        replace: 'standing === undefined || standing.name === name',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'by movePrimary is pending while the old one exists: streams do not show its documents',
          ),
          instanceTest(
            'ddl/ddl-tracker-resharding.test.ts',
            'by moveCollection is pending under its new UUID, however often the stream shows that',
          ),
        ],
      },
      {
        takesOut: 'the entry once it has arrived',
        file: instance('ddl/unknown-collections.ts'),
        symbol: 'arrivedOf',
        find: 'return awaited.filter(({ uuid }) => present.has(uuid));',
        replace: 'return awaited.filter(({ uuid }) => present.has(uuid) && uuid === null);',
        tests: [
          instanceTest(
            'ddl/unknown-collections.test.ts',
            'a pending collection has arrived once the catalog shows it, until it is added',
          ),
        ],
      },
    ],
  },
  {
    number: 62,
    hazard:
      'A chunk moves away and back between two reads of the catalog: its owners look unchanged, and the streams read ' +
      'for it lack its changes',
    handling:
      'Convoy compares versions of chunks, the time since which each belongs to its shard, and the version of each ' +
      'database. The first comparison that finds a move ends the migration, at the latest the one before the ' +
      'opening. An unsharded collection off its primary shard (8.0) stays when that changes.',
    sabotages: [
      {
        takesOut: 'what `movePrimary` leaves where it is',
        file: instance('catalog/read-sharding.ts'),
        symbol: 'openPlacementReader',
        find: 'return { sharding: null, primaryShard: chunks[0]?.shard ?? primary.primaryShard };',
        replace: 'return { sharding: null, ...primary, primaryShard: chunks[0]?.shard ?? primary.primaryShard };',
        tests: [
          instanceTest(
            'catalog/read-catalog.test.ts',
            'counts the changes of a primary shard for collections that follow it, not for one elsewhere',
          ),
        ],
      },
      {
        takesOut: 'the versions and times of chunks',
        file: instance('catalog/compare-catalogs.ts'),
        symbol: 'sameOwners',
        find: 'if (hasMoved(a?.chunks ?? [], b?.chunks ?? [])) return false;',
        replace: 'void hasMoved;',
        tests: [movedAndBack, thereAndBack],
      },
      {
        takesOut: 'the time since which a chunk belongs to its shard, so that a rename counts as a move',
        file: instance('catalog/compare-catalogs.ts'),
        symbol: 'hasMoved',
        find: '(chunk.version?.t ?? 0) > version.t && chunk.ownedSince?.greaterThan(ownedSince) !== false',
        replace: '(chunk.version?.t ?? 0) > version.t',
        tests: [
          movedAndBack,
          integrationTest(
            'lifecycle/returned-chunk.test.ts',
            'a split, a merge and a rename of a sharded collection end nothing',
          ),
        ],
      },
      {
        takesOut: 'the versions of databases',
        file: instance('catalog/compare-catalogs.ts'),
        symbol: 'entryChanges',
        find: '|| hasReturned(before, entry)',
        replace: '|| (hasReturned(before, entry) && false)',
        tests: [
          movedAndBack,
          integrationTest(
            'lifecycle/returned-chunk.test.ts',
            'a primary that has moved there and back ends the migration by name',
          ),
        ],
      },
    ],
  },
  {
    number: 64,
    hazard:
      'JavaScript objects reorder field names that look like numbers, and JavaScript has no date beyond the year ' +
      '275760: documents get no owner',
    handling:
      'Bounds stay bytes. Keys, filters, validators and pipelines are Maps that encode to the same bytes. What the ' +
      'driver cannot encode is not sent: ranges that meet there are placed as one, and such definitions are refused ' +
      'by name.',
    sabotages: [
      {
        takesOut: 'the bytes of bounds',
        file: instance('catalog/catalog-bytes.ts'),
        symbol: 'decodeConfigDocument',
        find: 'plain[bound] = Buffer.from(readDocument(bytes, element));',
        replace: 'plain[bound] = Buffer.from(BSON.serialize(plain[bound] as Document));',
        tests: [keepsOrder],
      },
      {
        takesOut: 'the order of keys',
        file: instance('catalog/catalog-bytes.ts'),
        symbol: 'decodeKey',
        find:
          'return new Map([...elementsOf(bytes)].map((element) => [element.name, plainValue(rawValue(bytes, ' +
          'element))]));',
        replace: 'return new Map(Object.entries(BSON.deserialize(bytes)));',
        tests: [
          keepsOrder,
          instanceTest('catalog/index-spec.test.ts', 'names the fields of a text index at their position'),
        ],
      },
      {
        takesOut: 'the order within filters, validators and pipelines',
        file: instance('catalog/catalog-bytes.ts'),
        symbol: 'exactValue',
        find: 'return isLossless(value) ? losslessValue(value) : ownedValue(value);',
        replace:
          'return isLossless(value) ? new Map(Object.entries(losslessValue(value) as object)) : ownedValue(value);',
        tests: [keepsOrder],
      },
      {
        takesOut: 'the bytes of bounds that are stored',
        file: instance('catalog/catalog-bytes.ts'),
        symbol: 'restoredEntry',
        find: 'chunk[bound] = boundIn(raw[position] ?? noDocument, bound);',
        replace:
          'chunk[bound] = Buffer.from(BSON.serialize(BSON.deserialize(boundIn(raw[position] ?? noDocument, bound))));',
        tests: [keepsOrder],
      },
      {
        takesOut: 'the joining of ranges at bounds that the driver cannot write',
        file: instance('catalog/distribution.ts'),
        symbol: 'isSendable',
        find: 'if (!isLossless(new RawValue(elementType.document, bound))) return false;',
        replace: 'if (!isLossless(new RawValue(elementType.document, bound)) && bound.length === 0) return false;',
        tests: [
          instanceTest(
            'catalog/distribution.test.ts',
            'keeps the bytes of bounds, and joins ranges that meet at one that the driver cannot write',
          ),
        ],
      },
      {
        takesOut: 'the refusal of definitions that the driver cannot write',
        file: instance('catalog/unsupported-collections.ts'),
        symbol: 'refuseUnsupported',
        find: 'if (unsendable.length > 0) {',
        replace: 'if (unsendable.length > 1000) {',
        tests: [
          instanceTest(
            'preflight/check-source-catalog.test.ts',
            'refuses by name what the driver cannot write again: a validator or pipeline, and a filter of an index',
          ),
        ],
      },
    ],
  },
  {
    number: 128,
    hazard:
      'Servers hash 2^63 as a double like the lowest integer: with another hash a document has no owner, and no task ' +
      'copies it',
    handling: 'Convoy hashes this number as servers do.',
    sabotages: [
      {
        takesOut: 'the exception',
        file: instance('bson/order.ts'),
        symbol: 'integerForHash',
        find: 'if (binary === twoTo63) return longMin;',
        replace: 'if (binary === twoTo63 && value.type < 0) return longMin;',
        tests: [
          instanceTest(
            'bson/hash.test.ts',
            'of 2^63 as a double is that of the lowest integer, of greater ones that of the highest',
          ),
        ],
      },
    ],
  },
];
