import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** What copies have left out, repeated or disordered. */
export const copyHazards: readonly Hazard[] = [
  {
    number: 34,
    hazard: 'Range queries are type-bracketed: mixed types of `_id` are skipped silently, NaN is corrupted',
    handling:
      'Partitions are ranges of the `_id` index from MinKey to MaxKey, read by `min`, `max` and `hint`; values are compared here as the index does.',
    sabotages: [
      {
        takesOut: 'index bounds, for a filter',
        file: instance('cluster/id-range.ts'),
        symbol: 'openIdRange',
        find: '{ min: { _id: losslessValue(min) } }',
        replace: '{ filter: { _id: { $gte: losslessValue(min) } } }',
        tests: [instanceTest('cluster/reading.test.ts', 'has index bounds, one time and the order of _id')],
      },
      {
        takesOut: 'the range from MinKey to MaxKey',
        file: instance('store/partition-table.ts'),
        symbol: 'wholeRange',
        find: 'lower: minKey, upper: maxKey',
        replace: 'lower: minKey, upper: minKey',
        tests: [instanceTest('store/partition-table.test.ts', 'cover every _id from MinKey to MaxKey without gaps')],
      },
      {
        takesOut: 'numbers of all types as one place of the order',
        file: instance('bson/compare.ts'),
        symbol: 'compareRaw',
        find: 'const types = place - canonicalType(b.type);',
        replace: 'const types = a.type - b.type;',
        tests: [instanceTest('bson/order.test.ts', 'is shared exactly by the values that the order finds equal')],
      },
    ],
  },
  {
    number: 74,
    hazard:
      'A document whose `_id` is MaxKey lies outside every range given by `min` and `max`: their bounds are exclusive there',
    handling:
      'A range that begins in the middle and has no upper bound is read to its end by a second find, for MaxKey alone; in the copy and in the verifier. No partition ends at MaxKey but the last.',
    sabotages: [
      {
        takesOut: 'the second find',
        file: instance('cluster/id-range.ts'),
        symbol: 'openIdRange',
        find: "return 'min' in lower && !('max' in upper) ?",
        replace: "return 'min' in lower && 'max' in upper ?",
        tests: [
          instanceTest('copy/partition-reader.test.ts', 'a partition is read once, cursors lost or not: %s'),
          integrationTest('cluster/last-id.test.ts', 'a range is read to its last _id, MaxKey included'),
        ],
      },
      {
        takesOut: 'MaxKey as no bound of an index',
        file: instance('cluster/id-range.ts'),
        symbol: 'openIdRange',
        find: 'max === undefined || max.type === elementType.maxKey ?',
        replace: 'max === undefined ?',
        tests: [instanceTest('copy/partition-reader.test.ts', 'a partition is read once, cursors lost or not: %s')],
      },
      {
        takesOut: 'the inner bounds below MaxKey',
        file: instance('copy/copy-partition.ts'),
        symbol: 'isBoundary',
        find: ' && id.type !== elementType.maxKey',
        replace: '',
        tests: [instanceTest('copy/partitions.test.ts', 'is not divided at MaxKey, with which its last range ends')],
      },
    ],
  },
  {
    number: 75,
    hazard:
      'A router answers under a name that is gone as if its collection were empty, and states the time of the read all the same',
    handling:
      'What was read by a name counts only once all definition changes are known that were made until the reading ended; beyond the commit time, of whose changes nobody is told, the name is looked up once more. A change that becomes known meanwhile breaks the wait off: it may be the one that is waited for.',
    sabotages: [
      {
        takesOut: 'the wait of a partition',
        file: instance('copy/copy-partition.ts'),
        symbol: 'attemptCopy',
        find: "if (table.collection.readBy !== 'uuid') await deps.untilNamed(table.collection, stop);",
        replace: '',
        tests: [
          integrationTest(
            'ddl/renamed-while-read.test.ts',
            'collections that are renamed while a router reads them arrive whole',
          ),
        ],
      },
      {
        takesOut: 'the UUID that the name has to stand for',
        file: instance('cluster/snapshot-read.ts'),
        symbol: 'readTarget',
        find: '{ find: name, collectionUUID: binary }',
        replace: '{ find: name }',
        tests: [
          instanceTest(
            'copy/reading-by-uuid.test.ts',
            'a shard is read by the UUID of the collection, a router by its name, from 6.0 on of that UUID',
          ),
        ],
      },
      {
        takesOut: 'the end of that wait for the change it stands in the way of',
        file: instance('lifecycle/task/task-ddl.ts'),
        symbol: 'suspend',
        find: 'this.stages.rereader.suspend(uuid);',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/task/task-ddl.test.ts',
            'is let go of by lanes, copier and repairer in the moment in which the share learns of it',
          ),
        ],
      },
    ],
  },
  {
    number: 76,
    hazard:
      'A read by UUID takes the privilege `useUUID`, the identity of a replica set `replSetGetConfig`: without them all checks pass and the copy is refused',
    handling: 'The probe reads a shard by UUID as the copy does; preflight checks both privileges and names them.',
    sabotages: [
      {
        takesOut: 'the UUID of the probe',
        file: instance('cluster/probe-shard.ts'),
        symbol: 'probeShard',
        find: '{ find: collection, limit: 1 }',
        replace: "{ find: collection.toString('hex'), limit: 1 }",
        tests: [
          integrationTest(
            'cluster/direct-privileges.test.ts',
            'a shard whose user may not read by UUID is not read directly, and the privilege is named',
          ),
        ],
      },
      {
        takesOut: 'the privilege of the check',
        file: instance('preflight/required-privileges.ts'),
        symbol: 'shardPrivileges',
        find: 'actions: [...UUID_ACTIONS, ...(release',
        replace: 'actions: [...(release',
        tests: [instanceTest('preflight/check-start.test.ts', 'names what is missing, and where')],
      },
      {
        takesOut: 'the name of the privilege that shows which replica set it is',
        file: instance('cluster/topology.ts'),
        symbol: 'replicaSetId',
        find: 'if (codeOf(error) !== unauthorizedCode) throw error;',
        replace: 'if (codeOf(error) !== null) throw error;',
        tests: [
          integrationTest(
            'cluster/direct-privileges.test.ts',
            'a shard whose user may not read by UUID is not read directly, and the privilege is named',
          ),
        ],
      },
    ],
  },
  {
    number: 35,
    hazard: 'Reading a shard directly returns orphaned documents',
    handling: "Documents are held against the shard's chunks, hashed keys by their hash.",
    sabotages: [
      {
        takesOut: 'the chunks',
        file: instance('copy/partition-reader.ts'),
        symbol: 'next',
        find: "fresh.filter((document) => this.collection.owns(document, 'document'))",
        replace: 'fresh',
        tests: [instanceTest('copy/partitions.test.ts', 'leaves out what its shard does not own')],
      },
      {
        takesOut: 'the hash',
        file: instance('bson/shard-key.ts'),
        symbol: 'shardKeyOf',
        find: 'return hashed ? hashedValue(value) : value;',
        replace: 'return hashed && value.type < 0 ? hashedValue(value) : value;',
        tests: [instanceTest('bson/shard-key.test.ts', 'has hashes as 64-bit integers')],
      },
      {
        takesOut: 'the owner, for the first one',
        file: instance('bson/chunk-map.ts'),
        symbol: 'owns',
        find: 'return this.ownerOf(document, source) === shard;',
        replace: 'return this.ownerOf(document, source) !== undefined && shard !== undefined;',
        tests: [
          instanceTest(
            'lifecycle/task/task-collections.test.ts',
            'with direct access a share is what its shard owns, whatever bounds are stored',
          ),
        ],
      },
    ],
  },
  {
    number: 36,
    hazard: 'A collection is renamed or dropped while it is copied',
    handling: 'Shards are read by UUID; a read without a time is none.',
    sabotages: [
      {
        takesOut: 'the UUID',
        file: instance('copy/partition-reader.ts'),
        symbol: 'open',
        find: 'target: readTarget(this.collection),',
        replace: 'target: { find: this.collection.name },',
        tests: [
          instanceTest(
            'copy/reading-by-uuid.test.ts',
            'a shard is read by the UUID of the collection, a router by its name, from 6.0 on of that UUID',
          ),
        ],
      },
      {
        takesOut: 'the reading above the last definition change',
        file: instance('copy/copy-partition.ts'),
        symbol: 'beginReading',
        find: ', table.collection.notBefore]',
        replace: ']',
        tests: [
          instanceTest(
            'copy/reading-after-ddl.test.ts',
            'a collection is read above the last definition change that concerns it',
          ),
        ],
      },
      {
        takesOut: 'the look for the time of a read',
        file: instance('cluster/snapshot-read.ts'),
        symbol: 'openAtTime',
        find: 'if (cursor.first.atClusterTime !== undefined) return cursor;',
        replace: 'if (cursor.first.documents.length >= 0) return cursor;',
        tests: [instanceTest('cluster/reading.test.ts', 'of a collection that was not there then is no read')],
      },
      {
        takesOut: 'the look for the time of a reading for repair',
        file: instance('reread/read-documents.ts'),
        symbol: 'readByIds',
        find: 'const open = hasTime ? openAtTime : openPresent;',
        replace: 'const open = hasTime ? openPresent : openPresent;',
        tests: [
          instanceTest(
            'reread/absent-collection.test.ts',
            'a reading of a collection that was not there decides nothing',
          ),
        ],
      },
    ],
  },
  {
    number: 37,
    hazard: 'Stale or zero statistics on sharded collections',
    handling:
      'Estimates never divide; without one the copy begins with small batches, and the total is what was copied in the end.',
    sabotages: [
      {
        takesOut: 'the size of batches of which nothing is known',
        file: instance('copy/batch-size.ts'),
        symbol: 'documents',
        find: 'if (this.#documentBytes <= 0) return documentsUnknown;',
        replace: 'void documentsUnknown;',
        tests: [instanceTest('copy/batch-size.test.ts', 'follows the documents that come')],
      },
      {
        takesOut: 'the care about a count of 0',
        file: instance('lifecycle/task/task-collections.ts'),
        symbol: 'describe',
        find: 'documentBytes: entry.documentCount > 0 ? entry.sizeBytes / entry.documentCount : 0,',
        replace: 'documentBytes: entry.sizeBytes / entry.documentCount,',
        tests: [
          instanceTest(
            'lifecycle/task/unknown-sizes.test.ts',
            'a collection whose statistics say nothing has documents of unknown size',
          ),
        ],
      },
      {
        takesOut: 'the bound of what was copied by the total',
        file: instance('lifecycle/progress/progress-view.ts'),
        symbol: 'collectionCopyOf',
        find: 'Math.min(copied, total)',
        replace: 'copied',
        tests: [
          instanceTest(
            'lifecycle/progress/progress-view.test.ts',
            'is never more than the total, whatever was estimated and copied',
          ),
        ],
      },
    ],
  },
  {
    number: 38,
    hazard: 'Capped collections need insertion order',
    handling: 'One reader in natural order, one ordered insert in flight, one lane.',
    sabotages: [
      {
        takesOut: 'the natural order',
        file: instance('copy/capped.ts'),
        symbol: 'open',
        find: 'sort: { $natural: 1 },',
        replace: 'sort: { _id: 1 },',
        tests: [
          instanceTest('copy/capped.test.ts', 'is read in natural order and written in order, one insert at a time'),
        ],
      },
      {
        takesOut: 'the one insert in flight',
        file: instance('copy/capped.ts'),
        symbol: 'copyInOrder',
        find: 'await insertInOrder(table, batch.documents, deps, hard);',
        replace: 'void insertInOrder(table, batch.documents, deps, hard);',
        tests: [
          instanceTest('copy/capped.test.ts', 'is read in natural order and written in order, one insert at a time'),
        ],
      },
      {
        takesOut: 'the order of inserts',
        file: instance('copy/capped.ts'),
        symbol: 'insertInOrder',
        find: 'ordered: true }',
        replace: 'ordered: false }',
        tests: [
          instanceTest('copy/capped.test.ts', 'is read in natural order and written in order, one insert at a time'),
        ],
      },
      {
        takesOut: 'the one lane',
        file: instance('apply/apply-workers.ts'),
        symbol: 'workerOf',
        find: 'collection.capped ? collection.uuid : workerClass',
        replace: 'workerClass',
        tests: [
          instanceTest('apply/capped-worker.test.ts', 'all events of a capped collection go to one lane, in order'),
        ],
      },
    ],
  },
  {
    number: 39,
    hazard: 'Views on views, views that are created before their source',
    handling: 'Views are made as they are defined, in any order, and never copied or watched like collections.',
    sabotages: [
      {
        takesOut: 'the difference between views and collections',
        file: instance('lifecycle/task/task-collections.ts'),
        symbol: 'taskCollection',
        find: "if (followed.entry.type !== 'collection') return null;",
        replace: '',
        tests: [
          integrationTest(
            'kinds/views.test.ts',
            'views on views, of collections that do not exist, of sharded ones and with a collation',
          ),
        ],
      },
    ],
  },
  {
    number: 40,
    hazard: 'Legacy index values (`true`, `0`, texts as direction), old index versions',
    handling: 'Built as the destination can hold them, with a warning.',
    sabotages: [
      {
        takesOut: 'the directions that every server takes',
        file: instance('catalog/index-spec.ts'),
        symbol: 'portableDirection',
        find: 'return INDEX_TYPES.has(value) ? value : 1;',
        replace: 'return INDEX_TYPES.has(value) ? value : value;',
        tests: [instanceTest('catalog/index-spec.test.ts', 'turns the direction %s into %s')],
      },
      {
        takesOut: 'the warning of a version',
        file: instance('catalog/index-spec.ts'),
        symbol: 'portableIndex',
        find: "typeof index.v === 'number' && index.v < INDEX_VERSION",
        replace: "typeof index.v === 'number' && index.v < 0",
        tests: [
          instanceTest(
            'catalog/index-spec.test.ts',
            'warns of what it changes and stays silent about what says nothing',
          ),
        ],
      },
    ],
  },
  {
    number: 41,
    hazard: '`system.*` collections other than `system.js` and buckets of time series',
    handling: 'Never included; time series are refused by name.',
    sabotages: [
      {
        takesOut: 'the reservation of `system.*`',
        file: instance('catalog/namespace-filter.ts'),
        symbol: 'isReservedCollection',
        find: "collection.startsWith('system.') && collection !== 'system.js'",
        replace: "collection === 'system.views'",
        tests: [
          instanceTest(
            'catalog/namespace-filter.test.ts',
            'includes everything but reserved names when nothing is selected',
          ),
        ],
      },
      {
        takesOut: 'the exception for `system.js`',
        file: instance('catalog/namespace-filter.ts'),
        symbol: 'isReservedCollection',
        find: " && collection !== 'system.js'",
        replace: '',
        tests: [
          instanceTest(
            'catalog/namespace-filter.test.ts',
            'includes everything but reserved names when nothing is selected',
          ),
        ],
      },
    ],
  },
  {
    number: 77,
    hazard:
      'A router leaves the first `$` field out of every document that it brings into an order, and refuses documents that are too large beside the values of the order',
    handling:
      'Through a router, what is read in order is asked for inside of a field. Documents that are too large beside their `_id` are read by it.',
    sabotages: [
      {
        takesOut: 'the reading inside of a field, and by `_id`s',
        file: instance('cluster/driver/driver-node-client.ts'),
        symbol: 'openCursor',
        find: 'this.isRouter && isOrderedReading(command)',
        replace: 'this.isRouter && isOrderedReading({ ...command, find: undefined })',
        tests: [
          integrationTest('cluster/reading.test.ts', 'brings every field, also those whose names begin with $'),
          integrationTest(
            'cluster/reading.test.ts',
            'brings documents that are too large beside their _id to be ordered, in batches of %i',
          ),
        ],
      },
      {
        takesOut: 'the reading by `_id`s from the middle of a reading on',
        file: instance('cluster/driver/ordered-reading.ts'),
        symbol: 'next',
        find: 'const byIds = await CursorByIds.open(this.openOthers, this.command, this.#last, options);',
        replace:
          'throw error;\n      const byIds = await CursorByIds.open(this.openOthers, this.command, this.#last, options);',
        tests: [
          integrationTest(
            'cluster/reading.test.ts',
            'brings documents that are too large beside their _id to be ordered, in batches of %i',
          ),
        ],
      },
    ],
  },
  {
    number: 81,
    hazard:
      'From 7.0 on a read at a time below a rename finds the collection under its old name; a router asks the shards of today for it, and shows a part of what was sharded',
    handling:
      'Shards are read by UUID. What a router reads by a name is never trusted before the changes are known that were made until the reading ended, also where the read names the UUID.',
    sabotages: [
      {
        takesOut: 'the wait where the read names the UUID',
        file: instance('copy/copy-partition.ts'),
        symbol: 'attemptCopy',
        find: "if (table.collection.readBy !== 'uuid') await deps.untilNamed",
        replace: "if (table.collection.readBy === 'name') await deps.untilNamed",
        tests: [
          instanceTest(
            'copy/copy-partition.test.ts',
            'what was read by a name counts only once its changes are known, and is read again when there is one: %s',
          ),
        ],
      },
    ],
  },
];
