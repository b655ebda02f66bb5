import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

const finding = instanceTest('preflight/server-findings.test.ts', '$what');

/** What servers refuse or lack, and what can be said before a migration begins. */
export const beforehandHazards: readonly Hazard[] = [
  {
    number: 210,
    hazard:
      'A document filter compares with an integer beyond 2^53: in JavaScript it is another one, and other documents ' +
      'are migrated',
    handling: 'The Extended JSON of a filter is read with all its types.',
    sabotages: [
      {
        takesOut: 'the types of numbers',
        file: instance('catalog/namespace-filter.ts'),
        symbol: 'parseDocumentFilter',
        find: '{ relaxed: false }',
        replace: '{ relaxed: true }',
        tests: [
          integrationTest(
            'contract/document-filters.test.ts',
            'a document filter compares values as they are: integers beyond 2^53, and what looks like a condition',
          ),
        ],
      },
    ],
  },
  {
    number: 211,
    hazard:
      'The key of a duplicate is undefined, as that of an empty array: in a query it becomes null, and documents ' +
      'without the field are named for removal',
    handling: 'The filter of such a key asks for the type, or for an empty array.',
    sabotages: [
      {
        takesOut: 'the question for the type',
        file: instance('catalog/index-key-filter.ts'),
        symbol: 'fieldFilter',
        find: 'if (value === undefined) return',
        replace: 'if (value === undefined && path === "") return',
        tests: [instanceTest('apply/action-filters.test.ts', 'a duplicate key may be %s')],
      },
    ],
  },
  {
    number: 212,
    hazard:
      "A shard of the destination has `notablescan`, which routers do not show: it refuses writes of Convoy's state, " +
      'and a migration that has begun ends',
    handling: "Every condition on Convoy's state has the index of `_id`.",
    sabotages: [
      {
        takesOut: 'the index',
        file: instance('store/metadata.ts'),
        symbol: 'indexed',
        find: "'_id' in filter ? {} : { hint: { _id: 1 } }",
        replace: "'_id' in filter ? {} : {}",
        tests: [
          instanceTest(
            'store/metadata.test.ts',
            'has an index for every condition: servers may refuse others, which routers do not show',
          ),
        ],
      },
      {
        takesOut: 'the refusal where it shows',
        file: instance('preflight/check-server-parameters.ts'),
        symbol: 'checkServerParameters',
        find: 'if (notablescan === true)',
        replace: 'if (notablescan === null)',
        tests: [finding],
      },
    ],
  },
  {
    number: 213,
    hazard:
      'A server with `requireApiVersion` refuses the greeting of the driver, which finds no server then: a start is ' +
      'repeated for minutes, and a check blames TLS',
    handling: 'The code in a failed selection of a server counts as that of the call.',
    sabotages: [
      {
        takesOut: 'the look into the selection',
        file: instance('cluster/failure.ts'),
        symbol: 'isWithoutApiVersion',
        find: 'failure.code === apiVersionMissingCode);',
        replace: 'failure.code === 0 * apiVersionMissingCode);',
        tests: [
          instanceTest(
            'cluster/connection-failure.test.ts',
            'a server that refuses greetings without an API version is not called closed, and is not asked again',
          ),
        ],
      },
    ],
  },
  {
    number: 214,
    hazard:
      'A source keeps no history for snapshot reads (`minSnapshotHistoryWindowInSeconds: 0`, as advised beside ' +
      'arbiters): beside writers the copy begins again and again',
    handling: 'A start warns of members that keep less than twice the time for which the copy reads at one time.',
    sabotages: [
      {
        takesOut: 'the comparison',
        file: instance('preflight/check-server-parameters.ts'),
        symbol: 'describeShortHistory',
        find: 'window < wanted_seconds',
        replace: 'window < -1 * wanted_seconds',
        tests: [
          integrationTest(
            'contract/server-parameters.test.ts',
            'a source that keeps no history is named before a start: %s',
          ),
        ],
      },
    ],
  },
  {
    number: 215,
    hazard: 'A shard of the destination is draining: a migration ends after it has made some of the databases',
    handling: 'A start asks for shards that are being removed, and refuses.',
    sabotages: [
      {
        takesOut: 'the question',
        file: instance('preflight/check-destination.ts'),
        symbol: 'checkDraining',
        find: 'shard.draining === true',
        replace: 'shard.draining === null',
        tests: [
          finding,
          integrationTest(
            'contract/draining-shard.test.ts',
            'a start and a check name a shard of the destination that is being removed, and change nothing',
          ),
        ],
      },
    ],
  },
  {
    number: 216,
    hazard:
      'A source that was upgraded keeps views that servers of today refuse (an unknown stage, a circle, `$out`): a ' +
      'migration ends after it has changed the destination, without the name of the view',
    handling: 'A start opens every view on the source and its pipeline on the destination, and names what is refused.',
    sabotages: [
      {
        takesOut: 'the look for stages that write',
        file: instance('preflight/check-source-catalog.ts'),
        symbol: 'checkViews',
        find: 'writingStage(view) ??',
        replace: '',
        tests: [finding],
      },
      {
        takesOut: 'the question to the source',
        file: instance('preflight/check-source-catalog.ts'),
        symbol: 'checkViews',
        find: '(await refusalOf(source.router, view.database, { aggregate: view.name, pipeline: [] }, signal)) ??',
        replace: '',
        tests: [finding],
      },
    ],
  },
  {
    number: 217,
    hazard:
      'Capped collections need a privilege of their own, and `system.js` those that no grant on a whole database ' +
      'holds: a migration ends with Unauthorized after it has begun',
    handling:
      'A start looks at the privileges that the collections found need, and names action, resource and collection.',
    sabotages: [
      {
        takesOut: "the look at the destination's user",
        file: instance('preflight/catalog-privileges.ts'),
        symbol: 'checkWriter',
        find: 'if (concerns(needs, entries)) refuseLacking(',
        replace: 'if (concerns([], entries)) refuseLacking(',
        tests: [finding],
      },
    ],
  },
  {
    number: 218,
    hazard: "A filter names users' collections in `admin`: the migration commits, and they are not there",
    handling: "A filter that names one of the servers' databases is refused. A pattern leaves them out.",
    sabotages: [
      {
        takesOut: 'the refusal',
        file: instance('preflight/check-options.ts'),
        symbol: 'refuseServerDatabases',
        find: 'if (database === undefined || !serverDatabases.has(database)) continue;',
        replace: 'if (database !== null || !serverDatabases.has(database)) continue;',
        tests: [
          instanceTest(
            'preflight/inventory-findings.test.ts',
            'a filter that names a collection of %s is refused, a pattern is not',
          ),
        ],
      },
    ],
  },
  {
    number: 219,
    hazard:
      'Users make a TTL index of a plain one by `collMod`: it is dropped and built anew over the whole collection',
    handling: 'The plain one on the destination becomes a disabled TTL index in place, where the server takes that.',
    sabotages: [
      {
        takesOut: 'the change in place',
        file: instance('catalog/reconcile-indexes.ts'),
        symbol: 'withTtl',
        find: 'if (version[0] < makesTtlRelease) return [...standing];',
        replace: 'if (version[0] < makesTtlRelease + 100) return [...standing];',
        tests: [instanceTest('catalog/reconcile-indexes.test.ts', 'indexes: %s')],
      },
    ],
  },
];
