import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** What copies have left out, repeated or disordered. */
export const copyHazards: readonly Hazard[] = [
  {
    number: 35,
    hazard: 'A direct read of a shard returns orphaned documents',
    handling: "Documents are compared with the shard's chunks, hashed keys by their hash.",
    sabotages: [
      {
        takesOut: 'the chunks',
        file: instance('copy/partition-reader.ts'),
        symbol: 'next',
        find: "fresh.filter((document) => this.collection.owns(document, 'document'))",
        replace: 'fresh',
        tests: [instanceTest('copy/partitions.test.ts', 'skips documents that its shard does not own')],
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
        takesOut: 'the owner; the first one is taken instead',
        file: instance('bson/shard-key.ts'),
        symbol: 'owns',
        find: 'return this.ownerOf(document, source) === shard;',
        replace: 'return this.ownerOf(document, source) !== undefined && shard !== undefined;',
        tests: [
          instanceTest(
            'lifecycle/task/task-collections.test.ts',
            'with direct access a task has what its shard owns, whatever bounds are stored',
          ),
        ],
      },
    ],
  },
  {
    number: 36,
    hazard: 'A collection is renamed or dropped while it is copied',
    handling: 'Shards are read by UUID. A reply without a cluster time does not count.',
    sabotages: [
      {
        takesOut: 'the UUID',
        file: instance('copy/partition-reader.ts'),
        symbol: 'openCursor',
        find: 'target: readTarget(this.collection),',
        replace: 'target: { find: this.collection.name },',
        tests: [
          instanceTest(
            'copy/partition-reader-by-uuid.test.ts',
            'a shard is read by collection UUID, a router by name, from 6.0 with a check of the UUID',
          ),
        ],
      },
      {
        takesOut: 'the reading time above the last DDL change',
        file: instance('copy/copy-partition.ts'),
        symbol: 'beginReading',
        find: ', table.collection.notBefore]',
        replace: ']',
        tests: [
          instanceTest('copy/copy-partition-after-ddl.test.ts', 'a collection is read at or after its last DDL change'),
        ],
      },
      {
        takesOut: 'the check that a read has a time',
        file: instance('cluster/range-read.ts'),
        symbol: 'openAtTime',
        find: 'if (cursor.first.atClusterTime !== undefined) return cursor;',
        replace: 'if (cursor.first.documents.length >= 0) return cursor;',
        tests: [instanceTest('cluster/reading.test.ts', 'of a collection that was not there then is no read')],
      },
      {
        takesOut: 'the check that a re-read has a time',
        file: instance('reread/reread-batch.ts'),
        symbol: 'readTogether',
        find: 'const open = hasTime ? openAtTime : openPresent;',
        replace: 'const open = hasTime ? openPresent : openPresent;',
        tests: [instanceTest('reread/rereader-absent.test.ts', 'a read of an absent collection is no result')],
      },
    ],
  },
  {
    number: 37,
    hazard: 'Statistics of sharded collections are stale or zero',
    handling:
      'Convoy never divides by an estimate. Without one the copy begins with small batches, and the total becomes ' +
      'what was copied.',
    sabotages: [
      {
        takesOut: 'the size of batches of unknown documents',
        file: instance('cluster/reads.ts'),
        symbol: 'documents',
        find: 'if (this.#documentBytes <= 0) return documentsUnknown;',
        replace: 'void documentsUnknown;',
        tests: [instanceTest('cluster/reads.test.ts', 'adapts to the documents read')],
      },
      {
        takesOut: 'the check for a count of 0',
        file: instance('lifecycle/task/task-collections.ts'),
        symbol: 'describe',
        find: 'documentBytes: entry.documentCount > 0 ? entry.sizeBytes / entry.documentCount : 0,',
        replace: 'documentBytes: entry.sizeBytes / entry.documentCount,',
        tests: [
          instanceTest(
            'lifecycle/task/unknown-sizes.test.ts',
            'a collection whose statistics are empty has documents of unknown size',
          ),
        ],
      },
      {
        takesOut: 'the bound of what was copied by the total',
        file: instance('lifecycle/instance/progress-view.ts'),
        symbol: 'collectionCopyOf',
        find: 'Math.min(copied, total)',
        replace: 'copied',
        tests: [
          instanceTest(
            'lifecycle/instance/progress-view.test.ts',
            'is never more than the total, whatever was estimated and copied',
          ),
        ],
      },
    ],
  },
  {
    number: 38,
    hazard: 'Capped collections need insertion order',
    handling:
      'A capped collection has one reader in natural order, one ordered insert in flight, and one apply worker.',
    sabotages: [
      {
        takesOut: 'the natural order',
        file: instance('copy/copy-capped.ts'),
        symbol: 'open',
        find: 'sort: { $natural: 1 },',
        replace: 'sort: { _id: 1 },',
        tests: [
          instanceTest(
            'copy/copy-capped.test.ts',
            'a capped collection is read in natural order and written in that order, one insert at a time',
          ),
        ],
      },
      {
        takesOut: 'the one insert in flight',
        file: instance('copy/copy-capped.ts'),
        symbol: 'copyInOrder',
        find: 'await insertInOrder(copy, batch.documents);',
        replace: 'void insertInOrder(copy, batch.documents);',
        tests: [
          instanceTest(
            'copy/copy-capped.test.ts',
            'a capped collection is read in natural order and written in that order, one insert at a time',
          ),
        ],
      },
      {
        takesOut: 'the order of inserts',
        file: instance('copy/copy-capped.ts'),
        symbol: 'insertInOrder',
        find: 'ordered: true }',
        replace: 'ordered: false }',
        tests: [
          instanceTest(
            'copy/copy-capped.test.ts',
            'a capped collection is read in natural order and written in that order, one insert at a time',
          ),
        ],
      },
      {
        takesOut: 'the one apply worker',
        file: instance('apply/apply-workers.ts'),
        symbol: 'workerOf',
        find: 'collection.capped ? collection.uuid : workerClass',
        replace: 'workerClass',
        tests: [
          instanceTest(
            'apply/apply-workers-capped.test.ts',
            'one worker applies all events of a capped collection, in their order',
          ),
        ],
      },
    ],
  },
  {
    number: 54,
    hazard:
      'Before 6.0 a write to many documents also reports events of orphans: the deletion of a stale orphan deletes ' +
      'the live document',
    handling:
      'With direct reads, events of documents that the shard does not own are dropped. Through a router, changed ' +
      'documents of collections whose chunks have moved are re-read.',
    sabotages: [
      {
        takesOut: 'the owner of an event',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'routeData',
        find: 'if (!isOwned(event, collection)) return;',
        replace: 'void isOwned;',
        tests: [instanceTest('apply/event-dispatcher.test.ts', 'is dropped when another shard owns the document')],
      },
      {
        takesOut: 'the re-read for changes that may be those of orphans',
        file: instance('apply/action.ts'),
        symbol: 'actionOf',
        find:
          "if (collection.showsOrphans && event.operation !== 'insert') return { kind: 'reread', reason: " +
          "'orphanEvent' };",
        replace: '',
        tests: [
          instanceTest(
            'apply/action.test.ts',
            'is a re-read where the stream shows changes of orphans, except for inserts',
          ),
        ],
      },
      {
        takesOut: 'the check whether chunks were ever moved',
        file: instance('lifecycle/task/task-collections.ts'),
        symbol: 'ofRouterTask',
        find: '(entry.sharding.everMoved || keepsBalancer)',
        replace: '(entry.sharding.everMoved === undefined || keepsBalancer)',
        tests: [
          instanceTest(
            'lifecycle/task/task-collections.test.ts',
            'read by name, from 6.0 on only of their UUID; orphans checked before 6.0 where chunks moved',
          ),
        ],
      },
      {
        takesOut: 'the versions of chunks',
        file: instance('catalog/read-sharding.ts'),
        symbol: 'readChunks',
        find: 'lastmod.t > 1',
        replace: 'lastmod.t > 1_000_000',
        tests: [instanceTest('catalog/read-catalog.test.ts', 'detects by chunk versions whether one was ever moved')],
      },
    ],
  },
  {
    number: 75,
    hazard:
      'A router answers for a name that is gone as for an empty collection, and still reports the time of the read',
    handling:
      'A read by name counts only once all DDL changes up to its end are known. Beyond the commit time, whose ' +
      'changes nobody watches, Convoy looks the name up again. A new DDL change ends the wait, since it may be ' +
      'waiting for the read itself.',
    sabotages: [
      {
        takesOut: 'the wait of a partition',
        file: instance('copy/copy-partition.ts'),
        symbol: 'attemptCopy',
        find: "if (table.collection.readBy !== 'uuid') await deps.stream.untilNamed(table.collection, stop);",
        replace: '',
        tests: [
          integrationTest(
            'ddl/renamed-while-read.test.ts',
            'collections that are renamed while a router reads them arrive whole',
          ),
        ],
      },
      {
        takesOut: 'the UUID that the name must stand for',
        file: instance('cluster/range-read.ts'),
        symbol: 'readTarget',
        find: '{ find: name, collectionUUID: binary }',
        replace: '{ find: name }',
        tests: [
          instanceTest(
            'copy/partition-reader-by-uuid.test.ts',
            'a shard is read by collection UUID, a router by name, from 6.0 with a check of the UUID',
          ),
        ],
      },
      {
        takesOut: 'the end of that wait for a DDL change that it blocks',
        file: instance('lifecycle/task/task-ddl.ts'),
        symbol: 'suspend',
        find: 'this.stages.rereader.suspend(uuid);',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/task/task-ddl.test.ts',
            'are suspended by apply workers, copier and rereader as soon as the task learns of it',
          ),
        ],
      },
    ],
  },
  {
    number: 76,
    hazard:
      'A read by UUID needs the privilege `useUUID`, the identity of a replica set `replSetGetConfig`, a read of a ' +
      'shard of 8.0 `issueDirectShardOperations`: without them all checks pass and the copy is refused',
    handling:
      'The probe reads a shard by UUID as the copy does, and from 8.0 on by name. Preflight checks these privileges ' +
      'and names them, also on the shards that a reverse would read.',
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
        takesOut: 'the read by name, which shards of 8.0 refuse without their role',
        file: instance('cluster/probe-shard.ts'),
        symbol: 'probeShard',
        find: 'if (release >= directRoleRelease) await probeRole(client, limited);',
        replace: 'void probeRole;',
        tests: [
          instanceTest('cluster/probe-shard.test.ts', 'cannot be read without the role, when it %s'),
          integrationTest(
            'contract/direct-shard-role.test.ts',
            'with auto, the source is read through its router, with a warning that names the role',
          ),
        ],
      },
      {
        takesOut: 'the users of the shards that a reverse reads',
        file: instance('preflight/check-privileges.ts'),
        symbol: 'checkReverseUsers',
        find: 'await checkShardUsers(next, signal);',
        replace: 'void checkShardUsers;',
        tests: [
          instanceTest(
            'preflight/report-start.test.ts',
            'of a reversible migration checks the users of the shards of the destination if it is %s',
          ),
          integrationTest(
            'contract/direct-shard-role.test.ts',
            "refuses a reversible migration if the destination's shards lack another privilege of the way back",
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
        takesOut: 'the name of the privilege that identifies the replica set',
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
    number: 81,
    hazard:
      "From 7.0 on a read at a time below a rename finds the collection under its old name. A router asks today's " +
      'shards for it and returns a part of a sharded one',
    handling:
      'Shards are read by UUID. A read by name through a router counts only once all DDL changes up to its end are ' +
      'known, even if it names the UUID.',
    sabotages: [
      {
        takesOut: 'the wait where the read names the UUID',
        file: instance('copy/copy-partition.ts'),
        symbol: 'attemptCopy',
        find: "if (table.collection.readBy !== 'uuid') await deps.stream.untilNamed",
        replace: "if (table.collection.readBy === 'name') await deps.stream.untilNamed",
        tests: [
          instanceTest(
            'copy/copy-partition.test.ts',
            'a read by name counts only once all DDL changes are known, and is repeated after one: %s',
          ),
        ],
      },
    ],
  },
  {
    number: 221,
    hazard:
      'The memory of a reply is freed as soon as its documents are written or compared, while somebody still reads ' +
      'one of them, or the time that the driver keeps of the reply',
    handling:
      'What outlives its reply is copied: the signature of a cluster time, documents of which two have one `_id`, ' +
      'places and `_id`s. A document that is freed is empty, so that reading it fails at once.',
    sabotages: [
      {
        takesOut: 'the copy of the signature',
        file: instance('cluster/driver/driver-receive.ts'),
        symbol: 'install',
        find: 'keepTimesAlone(internals.MongoDBResponse);',
        replace: '',
        tests: [
          instanceTest(
            'cluster/driver/driver-receive.test.ts',
            'is freed at once where it is a large one, and the driver goes on with its cluster time',
          ),
        ],
      },
      {
        takesOut: 'the copies of documents with one _id',
        file: instance('verify/compare/ordered-documents.ts'),
        symbol: 'takeGroup',
        find: 'group.push(Buffer.from(document));',
        replace: 'group.push(document);',
        tests: [
          {
            file: 'packages/instance/test/integration/verify/large-documents.test.ts',
            title: 'differences between documents of many large replies are found, and no other ones',
          },
        ],
      },
    ],
  },
];
