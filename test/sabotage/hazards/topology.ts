import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

const ends = 'a shard that joins %s ends the migration by name';
const duringCommit = 'lifecycle/moved-during-commit.test.ts';
const userAlso = 'the commit fails when a user %s meanwhile, though the database moves too';

/** Clusters that gain or lose shards, and chunks that move, while a migration runs. */
export const topologyHazards: readonly Hazard[] = [
  {
    number: 110,
    hazard:
      'A shard joins or leaves during the migration: nobody reads its databases, no fence covers it, or its last ' +
      'changes are gone. A process that starts later divides the documents by another number',
    handling:
      "Tasks divide documents by the shards that the record has. The leader compares both clusters' shards whenever " +
      'it compares catalogs, at the latest before the opening. Only a source that is read through its routers may ' +
      'gain shards, and none may lose one.',
    sabotages: [
      {
        takesOut: "the record's shards",
        file: instance('lifecycle/migration/clusters.ts'),
        symbol: 'withRecordedShards',
        find: 'isDeepStrictEqual(source.shardIds, shardIds) ? source : { ...source, shardIds }',
        replace: '{ ...source, shardIds: shardIds.length === 0 ? shardIds : source.shardIds }',
        tests: [
          integrationTest(
            'lifecycle/joined-shard.test.ts',
            'a shard that joins behind the routers changes no task of a process that starts later',
          ),
        ],
      },
      {
        takesOut: "the look at the destination's shards",
        file: instance('lifecycle/leader/followed-source.ts'),
        symbol: 'refuseOtherShards',
        find: 'if (destinationShards !== undefined)',
        replace: 'if (destinationShards?.length === 0)',
        tests: [integrationTest('lifecycle/joined-shard.test.ts', ends)],
      },
      {
        takesOut: "the look at the source's new shards",
        file: instance('lifecycle/leader/followed-source.ts'),
        symbol: 'refuseOtherShards',
        find: "joined: source.access === 'direct' ? joined : [], left",
        replace: 'joined: [], left',
        tests: [integrationTest('lifecycle/joined-shard.test.ts', ends)],
      },
      {
        takesOut: 'the look at shards that left',
        file: instance('lifecycle/leader/followed-source.ts'),
        symbol: 'refuseOtherShards',
        find: "joined: source.access === 'direct' ? joined : [], left",
        replace: "joined: source.access === 'direct' ? joined : [], left: []",
        tests: [
          integrationTest(
            'lifecycle/joined-shard.test.ts',
            'a shard that leaves a source that is read through its routers ends the migration by name',
          ),
        ],
      },
    ],
  },
  {
    number: 125,
    hazard:
      'A database or a collection moves during the commit, or is resharded: its creations and drops look like those ' +
      'of users, or what users do meanwhile is taken for the move',
    handling:
      'Creations, drops and reshardings above the commit time count as moves only if every collection still has its ' +
      'name and definition once nothing is under way any more, and none has lost its documents. The shards must be ' +
      'the same. A second look at the streams then finds no writes that have filled one again. Another shard key ' +
      'ends the commit by name.',
    sabotages: [
      {
        takesOut: 'the look for a move',
        file: instance('lifecycle/leader/late-writes.ts'),
        symbol: 'countLate',
        find: "if (totalOf(late) === 0 || late.writes > 0 || deps.source.kind === 'replicaSet') return totalOf(late);",
        replace: 'if (totalOf(late) >= 0) return totalOf(late);',
        tests: [
          integrationTest(
            duringCommit,
            'a database that moves to another shard does not end the migration: access %s, keepBalancer %s',
          ),
        ],
      },
      {
        takesOut: 'reshardings, among what moves show',
        file: instance('apply/events-ahead.ts'),
        symbol: 'shownByMoves',
        find: "'reshardCollection'",
        replace: "''",
        tests: [
          instanceTest(
            'apply/event-dispatcher-limits.test.ts',
            'counts above it what moves of databases and collections show apart from other changes of definitions',
          ),
        ],
      },
      {
        takesOut: 'the wait until nothing is under way',
        file: instance('lifecycle/leader/late-writes.ts'),
        symbol: 'settledCatalog',
        find: 'if (isOver || !(wereMoving || (await areMoving()))) {',
        replace: 'if (isOver || wereMoving || !(await areMoving())) {',
        tests: [
          instanceTest(
            'lifecycle/leader/late-writes.test.ts',
            'reads the catalog again as long as servers move something: in between a collection has no place',
          ),
        ],
      },
      {
        takesOut: 'the comparison of the shards',
        file: instance('lifecycle/leader/late-writes.ts'),
        symbol: 'countLate',
        find: 'await refuseOtherShards(deps, signal);',
        replace: 'void refuseOtherShards;',
        tests: [
          instanceTest(
            'lifecycle/leader/late-writes.test.ts',
            'compares the shards where something has moved: nobody has read the last changes of one that has left',
          ),
        ],
      },
      {
        takesOut: 'the second look',
        file: instance('lifecycle/leader/late-writes.ts'),
        symbol: 'countLate',
        find: 'const { writes } = await look();',
        replace: 'const { writes } = late;',
        tests: [
          instanceTest(
            'lifecycle/leader/late-writes.test.ts',
            'finds that a user who had dropped a collection has filled it after the first look',
          ),
        ],
      },
      {
        takesOut: 'the look for documents',
        file: instance('lifecycle/migration/migration-catalogs.ts'),
        symbol: 'catalogSince',
        find: "if (await isEmptied(clusters, remap, entry, signal)) changes.push({ kind: 'dropped', entry });",
        replace: 'await isEmptied(clusters, remap, entry, signal);',
        tests: [
          instanceTest(
            'lifecycle/migration/migration-catalogs.test.ts',
            'takes a collection without documents for one that a user has emptied, if the destination has some',
          ),
          integrationTest(duringCommit, userAlso),
        ],
      },
      {
        takesOut: 'the comparison of definitions',
        file: instance('lifecycle/migration/migration-catalogs.ts'),
        symbol: 'catalogSince',
        find: "kind !== 'primaryShard' && kind !== 'chunksMoved'",
        replace: "kind.startsWith('none')",
        tests: [
          instanceTest(
            'lifecycle/migration/migration-catalogs.test.ts',
            'finds that a user %s, also when the database moves',
          ),
          integrationTest(duringCommit, userAlso),
        ],
      },
    ],
  },
  {
    number: 111,
    hazard:
      'The balancer stays on: an orphan is taken for a document, or a rename counts as done before all shards have ' +
      'executed it. The reason is that the shards that have the collection have changed',
    handling:
      'The source is read through its routers. Before 6.0 changes of sharded collections are re-read. Copies of a ' +
      'drop or rename are not counted: it is complete once the config servers show it, at a time above everything ' +
      'until then.',
    sabotages: [
      {
        takesOut: 'the re-reads',
        file: instance('lifecycle/task/task-collections.ts'),
        symbol: 'ofRouterTask',
        find: 'entry.sharding !== null && (entry.sharding.everMoved || keepsBalancer)',
        replace: 'entry.sharding !== null && (entry.sharding.everMoved || (keepsBalancer && false))',
        tests: [
          instanceTest(
            'lifecycle/task/task-collections.test.ts',
            'a sharded collection may have orphans while the balancer stays on',
          ),
        ],
      },
      {
        takesOut: 'the unknown number of copies',
        file: instance('ddl/ddl-tracker.ts'),
        symbol: 'DdlTracker',
        find: 'this.deps.keepsBalancer ? Infinity : Math.max(1,',
        replace: 'this.deps.keepsBalancer ? chunks.length : Math.max(1,',
        tests: [
          instanceTest(
            'ddl/ddl-tracker.test.ts',
            'are not counted while chunks may move: the change is complete once the catalog shows it',
          ),
        ],
      },
      {
        takesOut: 'the word of the config servers',
        file: instance('catalog/read-sharding.ts'),
        symbol: 'isShardedAs',
        find: 'return row !== undefined && row.dropped !== true',
        replace: 'return row === undefined && row !== undefined && row.dropped !== true',
        tests: [
          instanceTest(
            'catalog/read-sharding.test.ts',
            'a collection is sharded under the name that the config servers have',
          ),
        ],
      },
    ],
  },
  {
    number: 134,
    hazard:
      'A secondary of the source lags: its catalog lacks what the change stream has shown, or it refuses the time of ' +
      'a read as one in the future',
    handling:
      'Catalogs come from primaries, whatever `readPreference` is. Each cursor passes on the latest cluster time of ' +
      'all replies, so that its member waits for it.',
    sabotages: [
      {
        takesOut: 'the primary for catalogs',
        file: instance('catalog/list-namespaces.ts'),
        symbol: 'readCursor',
        find: ', primary: true }',
        replace: ' }',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'advances the cluster time of a member that lags; catalogs come from the primary',
          ),
        ],
      },
      {
        takesOut: 'the cluster time of replies to cursors',
        file: instance('cluster/driver/driver-cursor.ts'),
        symbol: 'send',
        find: '    home.times.learn(reply);\n',
        replace: '',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'advances the cluster time of a member that lags; catalogs come from the primary',
          ),
        ],
      },
    ],
  },
];
