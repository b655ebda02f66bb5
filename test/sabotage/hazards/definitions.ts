import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Definitions of collections, indexes and views. */
export const definitionHazards: readonly Hazard[] = [
  {
    number: 39,
    hazard: 'Views on views, and views that are created before their source',
    handling: 'Views are created as they are defined, in any order, and never copied or watched like collections.',
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
    hazard: 'Legacy index values (`true`, `0`, strings as direction) and old index versions',
    handling: 'Indexes are built in a form that the destination can hold, with a warning.',
    sabotages: [
      {
        takesOut: 'the directions that every server accepts',
        file: instance('catalog/index-spec.ts'),
        symbol: 'portableDirection',
        find: 'return INDEX_TYPES.has(value) ? value : 1;',
        replace: 'return INDEX_TYPES.has(value) ? value : value;',
        tests: [instanceTest('catalog/index-spec.test.ts', 'turns the direction %s into %s')],
      },
      {
        takesOut: 'the warning about a version',
        file: instance('catalog/index-spec.ts'),
        symbol: 'portableIndex',
        find: "typeof index.v === 'number' && index.v < INDEX_VERSION",
        replace: "typeof index.v === 'number' && index.v < 0",
        tests: [
          instanceTest('catalog/index-spec.test.ts', 'warns of what it changes, and not of attributes without meaning'),
        ],
      },
    ],
  },
  {
    number: 41,
    hazard: '`system.*` collections other than `system.js` and buckets of time series',
    handling: 'They are never included.',
    sabotages: [
      {
        takesOut: 'the exclusion of `system.*`',
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
    number: 42,
    hazard: 'Replaying `create` drops data',
    handling:
      'An existing collection stays if it has the planned form, and is refused otherwise. A create never drops ' +
      'anything.',
    sabotages: [
      {
        takesOut: 'the acceptance of an existing collection',
        file: instance('catalog/create-collections.ts'),
        symbol: 'ensureCreated',
        find: 'if (present !== null) return present;',
        replace: 'if (present !== null) await destination.router.command(database, { drop: name }, { signal });',
        tests: [
          instanceTest(
            'catalog/create-collections.test.ts',
            'reuses an empty collection of the same form, and refuses a different one',
          ),
        ],
      },
      {
        takesOut: 'the check whether a collection in the way stands for another one',
        file: instance('ddl/destination-collections.ts'),
        symbol: 'clearOne',
        find: "if (stored?.type === 'collection' && deps.pairs.isRecorded(stored.uuid)) {",
        replace: "if (stored?.type === 'timeseries' && deps.pairs.isRecorded(stored.uuid)) {",
        tests: [instanceTest('ddl/apply-ddl-change.test.ts', 'never drops a collection that stands for another one')],
      },
      {
        takesOut: 'the check whether the buckets of a time series in the way stand for those of another one',
        file: instance('ddl/destination-collections.ts'),
        symbol: 'clearOne',
        find: "present.type === 'timeseries' ? await bucketsBeside(deps, present, signal) : present",
        replace: "present.type === 'view' ? await bucketsBeside(deps, present, signal) : present",
        tests: [
          instanceTest(
            'ddl/apply-ddl-change.test.ts',
            'drops a time series in the way, unless its buckets stand for those of another one',
          ),
        ],
      },
    ],
  },
  {
    number: 46,
    hazard: '`listIndexes` through a router asks one shard',
    handling:
      'Every shard that owns chunks is asked, and again if one does not answer. If shards disagree, the start is ' +
      'refused.',
    sabotages: [
      {
        takesOut: 'the other shards',
        file: instance('catalog/read-indexes.ts'),
        symbol: 'readIndexes',
        find: 'clients.map((client) => listIndexes(client, listed.database, listed.name, signal))',
        replace: 'clients.map(() => listIndexes(clients[0] as NodeClient, listed.database, listed.name, signal))',
        tests: [
          instanceTest('catalog/read-catalog.test.ts', 'are found on the shards themselves if they can be reached'),
        ],
      },
      {
        takesOut: 'the question to all shards through a router',
        file: instance('catalog/read-indexes.ts'),
        symbol: 'readIndexes',
        find: 'inconsistent: inconsistentOf(listed, seen, ofSeen, building)',
        replace: 'inconsistent: inconsistentOf(listed, seen, [], building)',
        tests: [instanceTest('catalog/read-catalog.test.ts', 'are found through the router by $indexStats otherwise')],
      },
      {
        takesOut: 'the care for shards that did not answer',
        file: instance('catalog/read-indexes.ts'),
        symbol: 'indexStatsByShard',
        find: 'if (code !== unauthorizedCode && code !== serverErrorCode.namespaceNotFound) throw failure;',
        replace: 'if (code === null) throw failure;',
        tests: [
          instanceTest(
            'catalog/read-catalog.test.ts',
            'stay unknown without the privilege alone: another failure of $indexStats is one of the reading',
          ),
        ],
      },
      {
        takesOut: 'the refusal of the start',
        file: instance('preflight/check-source-catalog.ts'),
        symbol: 'checkSourceCatalog',
        find: 'if (report.inconsistentIndexes.length > 0) {',
        replace: 'if (report.inconsistentIndexes.length > 1000) {',
        tests: [
          instanceTest('preflight/check-source-catalog.test.ts', 'refuses indexes that differ between shards, by name'),
        ],
      },
    ],
  },
  {
    number: 47,
    hazard: '`prepareUnique`, TTL and hidden keep their temporary form after the cut-over',
    handling:
      'The commit compares both catalogs in their final form and fails if they differ. The verifier compares the ' +
      'documents again between that and the opening.',
    sabotages: [
      {
        takesOut: 'the comparison at the commit',
        file: instance('lifecycle/leader/finish-catalog.ts'),
        symbol: 'refuseDifferences',
        find: 'if (differences.length === 0) return;',
        replace: 'if (differences.length >= 0) return;',
        tests: [
          instanceTest('lifecycle/leader/commit.test.ts', 'is refused when the destination still has a temporary form'),
        ],
      },
      {
        takesOut: 'the final form of what is compared',
        file: instance('catalog/compare-catalogs.ts'),
        symbol: 'compareIndexes',
        find: "options.form === 'final' ? [plan.final]",
        replace: "options.form === 'final' && plan.temporary === null ? [plan.final]",
        tests: [instanceTest('catalog/compare-catalogs.test.ts', 'finds an index whose %s was not restored')],
      },
    ],
  },
  {
    number: 48,
    hazard: '6.x does not round `cappedSize` to 256 bytes as earlier releases do',
    handling: 'Rounded sizes are compared.',
    sabotages: [
      {
        takesOut: 'the rounding',
        file: instance('catalog/collection-options.ts'),
        symbol: 'comparableOptions',
        find: 'Math.ceil(options.size / CAPPED_SIZE_UNIT_BYTES) * CAPPED_SIZE_UNIT_BYTES',
        replace: 'options.size + 0 * CAPPED_SIZE_UNIT_BYTES',
        tests: [
          instanceTest(
            'catalog/compare-catalogs.test.ts',
            'finds different options, and treats rounded capped sizes and explicit defaults as equal',
          ),
        ],
      },
    ],
  },
  {
    number: 49,
    hazard: 'Routers have stale caches',
    handling:
      "The destination's routing is refreshed before the copy. Statements that a router refuses as stale are retried.",
    sabotages: [
      {
        takesOut: 'the refresh',
        file: instance('catalog/create-collections.ts'),
        symbol: 'createCollections',
        find: 'await runTogether(signal, [removeZones, flush]);',
        replace: 'void flush;\n    await removeZones();',
        tests: [instanceTest('catalog/repeated-ddl.test.ts', 'refreshes routing after all collections were placed')],
      },
      {
        takesOut: 'the retry of statements whose routing was stale',
        file: instance('cluster/failure.ts'),
        symbol: 'codesByKind',
        find: 'NoProgressMade: 82,',
        replace: '',
        tests: [instanceTest('cluster/failure.test.ts', 'finds %s by the code')],
      },
    ],
  },
  {
    number: 103,
    hazard:
      "Internal databases of MongoDB's services are taken for users' data, or for a destination that is not empty",
    handling: 'Databases with the prefixes of internal ones are never included, and stay as they are on both clusters.',
    sabotages: [
      {
        takesOut: 'the prefixes of internal databases',
        file: instance('catalog/namespace-filter.ts'),
        symbol: 'isReservedDatabase',
        find: ' || RESERVED_PREFIXES.some((prefix) => database.startsWith(prefix))',
        replace: ' || RESERVED_PREFIXES.length === 0',
        tests: [
          instanceTest('catalog/namespace-filter.test.ts', 'never includes the internal database %s, not even by name'),
          integrationTest(
            'kinds/internal-databases.test.ts',
            'internal databases of MongoDB stay where they are, whatever happens in them',
          ),
        ],
      },
    ],
  },
  {
    number: 132,
    hazard:
      'A commit begins although the leader cannot bring definitions into line or builds an index, or only because an ' +
      'instance took one long ago: it fails or waits with the writers stopped',
    handling:
      'A difference or an index build that lasts is a warning in the record and keeps every instance from offering a ' +
      'commit. An instance follows another one into a commit only while the same command is on its way.',
    sabotages: [
      {
        takesOut: 'the wait for the definitions',
        file: instance('lifecycle/instance/commit-offer.ts'),
        symbol: 'missingDefinitions',
        find: 'if (hasWarning(record, definitionsWarning)) return [definitionsDiffer];',
        replace: 'if (hasWarning(record, definitionsWarning)) return [];',
        tests: [
          instanceTest(
            'lifecycle/instance/commit-offer.test.ts',
            'definitions that the leader cannot bring into line block a commit',
          ),
        ],
      },
      {
        takesOut: 'the warning',
        file: instance('lifecycle/leader/reconciled-catalogs.ts'),
        symbol: 'compare',
        find: 'await this.#noteFailure(failure, signal);',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/leader/compare-definitions.test.ts',
            'a difference that the leader cannot mend is a warning after a while, until it can',
          ),
        ],
      },
      {
        takesOut: 'the warning of a build that lasts',
        file: instance('lifecycle/leader/reconciled-catalogs.ts'),
        symbol: 'warnWhileLasting',
        find: 'if (!isLasting || hasWarning(record, definitionsWarning)) return;',
        replace: 'if (isLasting || hasWarning(record, definitionsWarning)) return;',
        tests: [
          instanceTest(
            'lifecycle/leader/compare-definitions.test.ts',
            'a build that lasts is a warning until the index is there',
          ),
        ],
      },
      {
        takesOut: 'the age of a commit that another instance took',
        file: instance('store/migration-view.ts'),
        symbol: 'isCommitJustRequested',
        find: '<= sameCommand_ms',
        replace: '<= Number.POSITIVE_INFINITY',
        tests: [
          instanceTest(
            'store/migration-view.test.ts',
            'a commit that one instance took long ago is not the command that another one has now',
          ),
        ],
      },
    ],
  },
  {
    number: 202,
    hazard:
      'A view was stored by an older server, or by a restored oplog, with another collation than a view that it ' +
      'reads: servers read it and refuse to create it, so that a migration ends after it has changed the destination',
    handling: 'A start compares the collations of views and of what they read, and names the views.',
    sabotages: [
      {
        takesOut: 'the comparison',
        file: instance('preflight/check-source-catalog.ts'),
        symbol: 'checkViews',
        find: 'collationClash(view, catalog) ??',
        replace: '',
        tests: [instanceTest('preflight/server-findings.test.ts', '$what')],
      },
    ],
  },
];
