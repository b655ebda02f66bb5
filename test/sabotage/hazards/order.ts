import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** The order of changes, of documents and definitions alike. */
export const orderHazards: readonly Hazard[] = [
  {
    number: 12,
    hazard:
      'A shard-key change is a delete on one shard and an insert on another, read by two instances at different lags',
    handling:
      'Filters carry the full document key; a write that meets another document never overwrites it, but asks the source; whoever owns an outdated document removes it.',
    sabotages: [
      {
        takesOut: 'the shard key from filters',
        file: instance('bson/shard-key.ts'),
        symbol: 'fullKeyFilter',
        find: "for (const { field } of key) if (field !== '_id') addCondition(",
        replace: "for (const { field } of key) if (field === '') addCondition(",
        tests: [instanceTest('bson/shard-key.test.ts', 'holds plain values, the shard key first and the _id once')],
      },
      {
        takesOut: 'the question to the source after a duplicate _id',
        file: instance('apply/send-batch.ts'),
        symbol: 'sendPart',
        find: 'const rereadRequests = outcome.failures.map((failure) => rereadOf(bulk, failure));',
        replace:
          'const rereadRequests = outcome.failures.filter(({ code }) => code !== 11000).map((failure) => rereadOf(bulk, failure));',
        tests: [
          instanceTest('apply/apply-worker.test.ts', 'from a duplicate key is durable before the wave counts as done'),
        ],
      },
      {
        takesOut: 'the doubt about a replacement under another shard key',
        file: instance('apply/action.ts'),
        symbol: 'replacement',
        find: 'return sameBytes(before, action.filter) ? action :',
        replace: 'return before.length > 0 ? action :',
        tests: [instanceTest('apply/action.test.ts', 'is a doubt: %s')],
      },
      {
        takesOut: 'the deletion of what has another shard key now',
        file: instance('reread/reread-batch.ts'),
        symbol: 'removals',
        find: '.filter((key) => !wanted.some((upsert) => upsert.key.equals(key)))',
        replace: '.filter(() => wanted.length === 0)',
        tests: [instanceTest('reread/rereader.test.ts', 'whose document has another shard key now is deleted first')],
      },
      {
        takesOut: 'the rule that only the owner touches a document',
        file: instance('reread/reread-batch.ts'),
        symbol: 'ownDocuments',
        find: ".filter((document) => collection.owns(document, 'document'))",
        replace: '.filter(() => true)',
        tests: [instanceTest('reread/rereader.test.ts', "that is another share's on either side is left to it")],
      },
    ],
  },
  {
    number: 13,
    hazard: "A chunk migration moves a document's later events to another shard's stream",
    handling:
      'Both balancers are stopped, and at rest, before the start time is taken; chunks that have moved since end the migration.',
    sabotages: [
      {
        takesOut: 'the wait for what is under way',
        file: instance('cluster/balancer.ts'),
        symbol: 'stopBalancer',
        find: 'if (now !== null && !now.enabled && !now.busy) return before;',
        replace: 'if (now !== null && !now.enabled) return before;',
        tests: [instanceTest('cluster/balancer.test.ts', 'is stopped and waited for, rounds and migrations alike')],
      },
      {
        takesOut: 'migrations that no round has begun',
        file: instance('cluster/balancer.ts'),
        symbol: 'readBalancer',
        find: 'inRound || (await migrationRuns(cluster, options))',
        replace: 'inRound',
        tests: [instanceTest('cluster/balancer.test.ts', 'is stopped and waited for, rounds and migrations alike')],
      },
      {
        takesOut: 'the stopping of the balancers before the start time',
        file: instance('lifecycle/leader/initialise.ts'),
        symbol: 'initialise',
        find: 'await stopBalancers(deps, leaderEpoch, signal);',
        replace: 'void stopBalancers;',
        tests: [
          integrationTest(
            'contract/balancers.test.ts',
            'balancers rest from before the copy to the commit, and run again afterwards',
          ),
        ],
      },
      {
        takesOut: 'moved chunks from what a comparison of catalogs finds',
        file: instance('catalog/catalog-changes.ts'),
        symbol: 'sameOwners',
        find: 'return owners(a) === owners(b);',
        replace: 'return owners(a) === owners(b) || true;',
        tests: [instanceTest('catalog/plan/compare-catalogs.test.ts', 'tells moved chunks from splits')],
      },
      {
        takesOut: 'the name of moved chunks',
        file: instance('ddl/ddl-guard.ts'),
        symbol: 'refuseCatalogChanges',
        find: "change.kind === 'chunksMoved'",
        replace: "change.kind === 'created'",
        tests: [instanceTest('ddl/ddl-guard.test.ts', '%s is named %s, also among others')],
      },
    ],
  },
  {
    number: 14,
    hazard: 'The same `_id` lives on two source shards',
    handling:
      'Both are kept where the destination can hold them; where it cannot, the migration ends by name, with the namespace.',
    sabotages: [
      {
        takesOut: 'the end of the migration',
        file: instance('reread/rereader.ts'),
        symbol: 'onBlocked',
        find: 'if (!(await this.#areAllLive(blocked, stop))) return;',
        replace: 'if (!(await this.#areAllLive(blocked, stop)) || entry.attempts > 0) return;',
        tests: [
          instanceTest('reread/refused-rereads.test.ts', 'ends the migration when the source holds both documents'),
        ],
      },
      {
        takesOut: 'the patience with an outdated document that is in the way',
        file: instance('reread/rereader.ts'),
        symbol: 'areAllLive',
        find: 'others.length > 0 && others.every(isLive)',
        replace: 'others.length > 0',
        tests: [instanceTest('reread/refused-rereads.test.ts', 'is tried again as long as %s')],
      },
    ],
  },
  {
    number: 15,
    hazard: 'Lanes are chosen by a part of the key, or by some types of `_id` only',
    handling: 'Lanes go by the hash of the id class.',
    sabotages: [
      {
        takesOut: 'the class, for the bytes of the `_id`',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'routed',
        find: 'workerClass: idClass(event.id, collection.collated)',
        replace: "workerClass: Buffer.from(event.id.bytes).toString('hex') + (idClass === undefined ? '' : '')",
        tests: [
          instanceTest(
            'apply/event-dispatcher.test.ts',
            'events of one id class go to one lane, whatever the bytes of their _id',
          ),
        ],
      },
    ],
  },
  {
    number: 16,
    hazard: 'Unique secondary indexes conflict for moments while changes are applied',
    handling: 'They are built plain and made unique at the commit, before `canWrite`.',
    sabotages: [
      {
        takesOut: 'the plain form',
        file: instance('catalog/plan/index-plan.ts'),
        symbol: 'deferAttributes',
        find: 'index.unique === true && !keepsUnique(index);',
        replace: 'index.unique === true && !keepsUnique(index) && index.name === undefined;',
        tests: [
          instanceTest(
            'catalog/make/create-collections.test.ts',
            'builds unique indexes plain under another name, TTL switched off, hidden visible',
          ),
        ],
      },
      {
        takesOut: 'the making unique at the commit',
        file: instance('catalog/make/restore-attributes.ts'),
        symbol: 'restoreAttributes',
        find: 'restoreUnique(restoring, collection));',
        replace: 'Promise.resolve([restoreUnique, collection].slice(2) as never[]));',
        tests: [
          instanceTest(
            'catalog/make/create-collections.test.ts',
            'brings every index into its final form on version %i',
          ),
        ],
      },
      {
        takesOut: 'the keys met twice that a router hands on from its shards',
        file: instance('catalog/unique-violation.ts'),
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
        file: instance('catalog/make/restore-attributes.ts'),
        symbol: 'makeUnique',
        find: 'await changeIndex(client, plan.entry, { name, prepareUnique: true }, signal);',
        replace: '',
        tests: [
          instanceTest(
            'catalog/make/create-collections.test.ts',
            'brings every index into its final form on version %i',
          ),
        ],
      },
    ],
  },
  {
    number: 17,
    hazard: 'A duplicate key in the middle of an ordered bulk keeps the rest from being written',
    handling: 'Waves are unordered; the ordered ones of capped collections are sent on after a failure.',
    sabotages: [
      {
        takesOut: 'the unordered form',
        file: instance('apply/send-batch.ts'),
        symbol: 'writeOf',
        find: 'ordered: capped,',
        replace: 'ordered: true,',
        tests: [instanceTest('apply/apply-worker.test.ts', 'is sent as unordered bulks, one per kind')],
      },
      {
        takesOut: 'the rest of an ordered command',
        file: instance('apply/send-batch.ts'),
        symbol: 'sendPart',
        find: 'return bulk.collection.capped ? await restOfOrdered(bulk, outcome, destination, signal, rereadRequests) : rereadRequests;',
        replace: 'void restOfOrdered;\n  return rereadRequests;',
        tests: [
          instanceTest(
            'apply/batch-sending.test.ts',
            'that met a duplicate key of a capped collection is gone on with behind it',
          ),
        ],
      },
    ],
  },
  {
    number: 18,
    hazard:
      'Transactions: their changes become visible together, prepared ones before the time of their events, and may span a commit point',
    handling:
      'Deltas of transactions that a reading may have seen already are in doubt; nothing above the commit time is routed. A transaction has one time on each shard; row 60 says what keeps it whole over several.',
    sabotages: [
      {
        takesOut: 'the doubt about prepared transactions',
        file: instance('apply/action.ts'),
        symbol: 'update',
        find: "if (event.inTransaction) return { kind: 'reread', reason: 'preparedTransaction' };",
        replace: '',
        tests: [instanceTest('apply/action.test.ts', 'is a doubt: %s')],
      },
      {
        takesOut: "the end of a repair's reading",
        file: instance('apply/write-batch.ts'),
        symbol: 'boundsOf',
        find: 'if (!event.inTransaction && !collection.capped) return bounds;',
        replace: 'if (event.time > 0n) return bounds;',
        tests: [
          instanceTest(
            'apply/apply-worker.test.ts',
            "concerns transactions up to the end of a repair's reading, also when the key left the set meanwhile",
          ),
        ],
      },
      {
        takesOut: 'the limit of what is routed at the commit time',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'limit',
        find: 'return this.#ceiling !== null && this.#ceiling < below ? this.#ceiling : below;',
        replace: 'return below;',
        tests: [
          instanceTest(
            'apply/dispatch-limits.test.ts',
            'keeps later events and the position below it, until a later one is set',
          ),
        ],
      },
    ],
  },
];
