import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** The order of changes, of documents and definitions alike. */
export const orderHazards: readonly Hazard[] = [
  {
    number: 12,
    hazard:
      'A shard-key change is a delete on one shard and an insert on another, which two instances read at different ' +
      'lags',
    handling:
      'Filters carry the full document key. A write that meets another document never overwrites it, but re-reads ' +
      'the source. The owner of an outdated document removes it.',
    sabotages: [
      {
        takesOut: 'the shard key, in filters',
        file: instance('bson/shard-key.ts'),
        symbol: 'fullKeyFilter',
        find: 'for (const { field } of key) if (!isOfId(field)) addCondition(',
        replace: "for (const { field } of key) if (field === '') addCondition(",
        tests: [instanceTest('bson/shard-key.test.ts', 'contains plain values, the shard key first and the _id once')],
      },
      {
        takesOut: 'the re-read after a duplicate _id',
        file: instance('apply/send-batch.ts'),
        symbol: 'sendPart',
        find: 'const rereadRequests = outcome.failures.map((failure) => rereadOf(bulk, failure));',
        replace:
          'const rereadRequests = outcome.failures.filter(({ code }) => code !== 11000).map((failure) => ' +
          'rereadOf(bulk, failure));',
        tests: [
          instanceTest(
            'apply/apply-workers-batches.test.ts',
            'of a duplicate key is durable before the batch counts as applied',
          ),
        ],
      },
      {
        takesOut: 'the re-read of a replacement under another shard key',
        file: instance('apply/action.ts'),
        symbol: 'replacement',
        find: 'return sameBytes(before, action.filter) ? action :',
        replace: 'return before.length > 0 ? action :',
        tests: [instanceTest('apply/action.test.ts', 'is a re-read: %s')],
      },
      {
        takesOut: 'the deletion of a document whose shard key has changed',
        file: instance('reread/reread-batch.ts'),
        symbol: 'removals',
        find: '.filter((key) => !wanted.some((upsert) => upsert.key.equals(key)))',
        replace: '.filter(() => wanted.length === 0)',
        tests: [instanceTest('reread/rereader.test.ts', 'is deleted first when its shard key has changed')],
      },
      {
        takesOut: 'the rule that only the owner touches a document',
        file: instance('reread/reread-batch.ts'),
        symbol: 'ownDocuments',
        find: ".filter((document) => collection.owns(document, 'document'))",
        replace: '.filter(() => true)',
        tests: [instanceTest('reread/rereader.test.ts', 'is left alone on the side where another task owns it')],
      },
    ],
  },
  {
    number: 13,
    hazard: "A chunk migration moves later events of a document to another shard's stream",
    handling:
      'Both balancers are stopped and idle before the start time is taken, which is taken anew if a chunk has moved ' +
      'before the catalog was read. Chunks that move later end the migration.',
    sabotages: [
      {
        takesOut: 'the wait for migrations in progress',
        file: instance('cluster/balancer.ts'),
        symbol: 'stopBalancer',
        find: 'if (now !== null && !now.enabled && !now.busy) return before;',
        replace: 'if (now !== null && !now.enabled) return before;',
        tests: [instanceTest('cluster/balancer.test.ts', 'is stopped, with a wait for rounds and migrations alike')],
      },
      {
        takesOut: 'migrations outside of a balancer round',
        file: instance('cluster/balancer.ts'),
        symbol: 'readBalancer',
        find: 'status.inBalancerRound === true || runs',
        replace: '(runs && false) || status.inBalancerRound === true',
        tests: [instanceTest('cluster/balancer.test.ts', 'is stopped, with a wait for rounds and migrations alike')],
      },
      {
        takesOut: 'collections that move, and what is resharded',
        file: instance('cluster/moves-under-way.ts'),
        symbol: 'movesUnderWay',
        find: 'const read = [readReshardings(cluster, options)];',
        replace: 'const read = [readReshardings(cluster, options)].slice(1);',
        tests: [instanceTest('cluster/balancer.test.ts', 'that is off is busy while %s, by hand too')],
      },
      {
        takesOut: 'moves of chunks that the operations of their donor show alone',
        file: instance('cluster/moves-under-way.ts'),
        symbol: 'movesUnderWay',
        find: 'if (isAtLeast(cluster.version, 6, 0)) read.push(readOperations(cluster, options));',
        replace: 'if (isAtLeast(cluster.version, 6, 0)) void readOperations;',
        tests: [
          integrationTest(
            'cluster/move-under-way.test.ts',
            'a move by hand through %s is noticed while it is under way, and no longer (servers from 8.0)',
          ),
        ],
      },
      {
        takesOut: 'a start time after moves that no balancer shows',
        file: instance('lifecycle/leader/initialise.ts'),
        symbol: 'takeStart',
        find: 'if (moved === undefined) return { startTime, catalog };',
        replace: 'if (moved !== null) return { startTime, catalog };',
        tests: [
          instanceTest(
            'lifecycle/leader/initialise-start-time.test.ts',
            'is taken again if a chunk has moved between it and the reading of the catalog',
          ),
        ],
      },
      {
        takesOut: 'the stop of the balancers before the start time',
        file: instance('lifecycle/leader/initialise.ts'),
        symbol: 'initialise',
        find: "stepDone('destinationBlocked');\n  await stopBalancers(deps, signal);",
        replace: "stepDone('destinationBlocked');\n  void stopBalancers;",
        tests: [
          integrationTest(
            'contract/balancers.test.ts',
            'balancers are stopped from before the copy to the commit, and run again afterwards',
          ),
        ],
      },
      {
        takesOut: 'moved chunks, in the comparison of catalogs',
        file: instance('catalog/compare-catalogs.ts'),
        symbol: 'sameOwners',
        find: 'return owners(a) === owners(b);',
        replace: 'return owners(a) === owners(b) || true;',
        tests: [instanceTest('catalog/compare-catalogs.test.ts', 'distinguishes moved chunks from splits')],
      },
      {
        takesOut: 'the error of its own for moved chunks',
        file: instance('ddl/judge-catalog.ts'),
        symbol: 'refuseCatalogChanges',
        find: "(change) => change.kind === 'chunksMoved'",
        replace: "(change) => change.kind === 'created'",
        tests: [instanceTest('ddl/judge-catalog.test.ts', '%s is named %s, also among others')],
      },
    ],
  },
  {
    number: 14,
    hazard: 'The same `_id` exists on two source shards',
    handling:
      'Both documents are copied where the destination can hold them. Otherwise the migration ends with an error ' +
      'that names the namespace.',
    sabotages: [
      {
        takesOut: 'the end of the migration',
        file: instance('reread/rereader.ts'),
        symbol: 'onBlocked',
        find: 'if (!(await this.#areAllLive(blocked, stop))) return;',
        replace: 'if (!(await this.#areAllLive(blocked, stop)) || entry.attempts > 0) return;',
        tests: [
          instanceTest('reread/rereader-refused.test.ts', 'ends the migration when the source has both documents'),
        ],
      },
      {
        takesOut: 'the retries while an outdated document is in the way',
        file: instance('reread/rereader.ts'),
        symbol: 'areAllLive',
        find: 'others.length > 0 && others.every(isLive)',
        replace: 'others.length > 0',
        tests: [instanceTest('reread/rereader-refused.test.ts', 'is tried again while %s')],
      },
      {
        takesOut: 'the shard key from statements for a replica set: one shard overwrites the document of another',
        file: instance('lifecycle/task/task-collections.ts'),
        symbol: 'describe',
        find: 'destinationKey: key',
        replace: 'destinationKey: []',
        tests: [
          instanceTest(
            'lifecycle/task/task-collections.test.ts',
            'a document of a sharded source is named by its shard key on every destination',
          ),
        ],
      },
    ],
  },
  {
    number: 15,
    hazard: 'Workers are chosen by a part of the key, or by some types of `_id` only',
    handling: 'Workers are chosen by the hash of the id class.',
    sabotages: [
      {
        takesOut: 'the id class; the bytes of the `_id` are taken instead',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'routed',
        find: 'workerClass: idClass(event.id, collection.collated)',
        replace: "workerClass: Buffer.from(event.id.bytes).toString('hex') + (idClass === undefined ? '' : '')",
        tests: [
          instanceTest(
            'apply/event-dispatcher.test.ts',
            'events of one id class go to one worker, whatever the bytes of their _id',
          ),
        ],
      },
    ],
  },
  {
    number: 16,
    hazard: 'Unique secondary indexes conflict temporarily while changes are applied',
    handling: 'They are built plain and become unique at the commit, before `canWrite`.',
    sabotages: [
      {
        takesOut: 'the plain form',
        file: instance('catalog/index-plan.ts'),
        symbol: 'deferAttributes',
        find: 'index.unique === true && !keepsUnique(index);',
        replace: 'index.unique === true && !keepsUnique(index) && index.name === undefined;',
        tests: [
          instanceTest(
            'catalog/create-collections.test.ts',
            'builds unique indexes plain under another name, TTL disabled, hidden visible',
          ),
        ],
      },
      {
        takesOut: 'the conversion to unique at the commit',
        file: instance('catalog/index-attributes.ts'),
        symbol: 'restoreAttributes',
        find: 'restoreUnique(restoring, collection));',
        replace: 'Promise.resolve([restoreUnique, collection].slice(2) as never[]));',
        tests: [
          instanceTest('catalog/create-collections.test.ts', 'converts every index to its final form on version %i'),
        ],
      },
      {
        takesOut: 'the duplicate keys that a router passes on from its shards',
        file: instance('catalog/index-attributes.ts'),
        symbol: 'repliesOf',
        find: 'Object.values(own.raw ?? {})',
        replace: 'Object.values(own.raw ?? {}).slice(0, 0)',
        tests: [
          integrationTest(
            'lifecycle/held-commit.test.ts',
            'hold the commit until they are removed, and are listed, also after a restart (destination %s)',
          ),
        ],
      },
      {
        takesOut: '`prepareUnique` before the conversion',
        file: instance('catalog/index-attributes.ts'),
        symbol: 'makeUnique',
        find: 'await changeIndex(restoring, plan, { name, prepareUnique: true });',
        replace: '',
        tests: [
          instanceTest('catalog/create-collections.test.ts', 'converts every index to its final form on version %i'),
        ],
      },
    ],
  },
  {
    number: 17,
    hazard: 'A duplicate key in the middle of an ordered bulk write stops the rest',
    handling: 'Write batches are unordered. Ordered ones of capped collections are continued after a failure.',
    sabotages: [
      {
        takesOut: 'the unordered form',
        file: instance('apply/send-batch.ts'),
        symbol: 'writeOf',
        find: 'ordered: capped,',
        replace: 'ordered: true,',
        tests: [instanceTest('apply/apply-workers-batches.test.ts', 'is sent as unordered bulks, one per kind')],
      },
      {
        takesOut: 'the rest of an ordered command',
        file: instance('apply/send-batch.ts'),
        symbol: 'sendPart',
        find:
          'return bulk.collection.capped ? await restOfOrdered(bulk, outcome, sending, rereadRequests) ' +
          ': rereadRequests;',
        replace: 'void restOfOrdered;\n  return rereadRequests;',
        tests: [instanceTest('apply/send-batch.test.ts', 'of a capped collection continues behind a duplicate key')],
      },
    ],
  },
  {
    number: 18,
    hazard:
      'Transactions become visible as a whole, prepared ones before the time of their events, and may span a commit ' +
      'time',
    handling:
      'Documents are re-read for deltas of transactions that a snapshot read may have seen. Nothing above the commit ' +
      'time is routed. A transaction has one time on each shard; row 60 says how it stays whole over several shards.',
    sabotages: [
      {
        takesOut: 'the re-read for prepared transactions',
        file: instance('apply/action.ts'),
        symbol: 'update',
        find: "if (event.inTransaction) return { kind: 'reread', reason: 'preparedTransaction' };",
        replace: '',
        tests: [instanceTest('apply/action.test.ts', 'is a re-read: %s')],
      },
      {
        takesOut: "the upper bound of a re-read's reading time",
        file: instance('apply/write-batch.ts'),
        symbol: 'boundsOf',
        find: 'if (!event.inTransaction && !collection.capped) return bounds;',
        replace: 'if (event.time > 0n) return bounds;',
        tests: [
          instanceTest(
            'apply/apply-workers-batches.test.ts',
            'covers transactions up to the end of the read, even after the entry has left the set',
          ),
        ],
      },
      {
        takesOut: "the memory of a re-read's end while events of its collection wait for a DDL change",
        file: instance('lifecycle/task/task-checkpoint.ts'),
        symbol: 'forgetReadings',
        find: 'apply.workers.oldestOf(uuid)',
        replace: 'apply.workers.oldestOf(uuid.slice(64))',
        tests: [
          instanceTest(
            'lifecycle/task/task-checkpoint.test.ts',
            'keeps those of a collection whose events wait for a DDL change, and no others',
          ),
        ],
      },
      {
        takesOut: 'the limit of what is routed at the commit time',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'latestRoutable',
        find: 'return this.#routesUpTo !== null && this.#routesUpTo < below ? this.#routesUpTo : below;',
        replace: 'return below;',
        tests: [
          instanceTest(
            'apply/event-dispatcher-limits.test.ts',
            'holds later events and the position until a later one is set',
          ),
        ],
      },
    ],
  },
  {
    number: 130,
    hazard:
      'A document repeats a field name, and an update pipeline changes that field: a member of 5.0.7 stops, and ' +
      'stops again after its restart',
    handling:
      'Convoy sends updates whose fields are in the order of their names as operators. These change the first field ' +
      'of a name, as on the source. All others are pipelines, which keep the order of new fields. Two updates that ' +
      'each remove such a field are not folded into one.',
    open: 'a replacement or re-read of such a document, and an update in another order.',
    sabotages: [
      {
        takesOut: 'the operators',
        file: instance('apply/write-delta.ts'),
        symbol: 'writeDelta',
        find: 'if (writeOperators(builder, delta)) return;',
        replace: 'void writeOperators;',
        tests: [instanceTest('apply/delta.test.ts', 'is sent as operators: %s')],
      },
      {
        takesOut: 'the order of names',
        file: instance('apply/write-delta.ts'),
        symbol: 'isInServerOrder',
        find: 'if (before !== null && !isBefore(before, name)) return false;',
        replace: 'if (before !== null && before.length < 0) return false;',
        tests: [
          instanceTest('apply/delta.test.ts', 'is sent as a pipeline: %s'),
          instanceTest(
            'apply/delta.property.test.ts',
            'by a pipeline is replayed to the same bytes, whatever the names',
          ),
        ],
      },
      {
        takesOut: 'the check for repeated fields where an update is folded into a document',
        file: instance('apply/action.ts'),
        symbol: 'fieldsChanged',
        find: 'if (changed.has(element.name)) return null;',
        replace: '',
        tests: [
          instanceTest(
            'apply/action-on-document.test.ts',
            'does not apply when it %s a field that the document repeats',
          ),
        ],
      },
      {
        takesOut: 'the check for repeated fields on the path of an update that is folded into a document',
        file: instance('apply/action.ts'),
        symbol: 'pathChanged',
        find: 'if (isFound) return null;',
        replace: '',
        tests: [
          instanceTest(
            'apply/action-on-document.test.ts',
            'does not apply when it changes a part of a field that the document repeats',
          ),
        ],
      },
      {
        takesOut: 'the check whether two folded updates remove the same name',
        file: instance('apply/action.ts'),
        symbol: 'changesAnyOf',
        find: 'return [...set.keys(), ...unset].some((name) => paths.has(name));',
        replace: 'return unset.size < 0 || [...set.keys()].some((name) => paths.has(name));',
        tests: [instanceTest('apply/delta.test.ts', 'stay two updates when both remove %s: the document repeats it')],
      },
    ],
  },
];
