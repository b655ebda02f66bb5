import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Where a migration starts, from where it resumes, and up to where it commits. */
export const checkpointHazards: readonly Hazard[] = [
  {
    number: 1,
    hazard:
      'A write in flight at the start gets a time below the start time, and neither copy nor change stream sees it',
    handling:
      'The start time is above an oplog note on every shard. A partition is read at one time, at least that of every ' +
      'event of its range that was dropped.',
    sabotages: [
      {
        takesOut: 'the notes on all shards that give the start time',
        file: instance('cluster/cluster-time.ts'),
        symbol: 'timeAboveAll',
        find: 'noteClients(cluster), (client) => appendNote(client, options));\n  return',
        replace: 'noteClients(cluster), (client) => currentTime(client, options));\n  return',
        tests: [instanceTest('cluster/reading.test.ts', 'with direct access is the highest of notes on all shards')],
      },
      {
        takesOut: 'the snapshot read at one time',
        file: instance('cluster/range-read.ts'),
        symbol: 'findCommand',
        find: "readConcern: { level: 'snapshot', atClusterTime: at }",
        replace: "readConcern: { level: 'majority' }",
        tests: [instanceTest('cluster/reading.test.ts', 'has index bounds, one time and the order of _id')],
      },
      {
        takesOut: 'the reading time above every dropped event',
        file: instance('copy/copy-partition.ts'),
        symbol: 'beginReading',
        find: 'highestTime([deps.stream.position, partition.dropped, ',
        replace: 'highestTime([deps.stream.position, ',
        tests: [
          instanceTest('copy/partitions.test.ts', 'is at least %s, and the stream is routed up to it before the read'),
        ],
      },
    ],
  },
  {
    number: 3,
    hazard: 'The time that the lag is measured from is not the time from which resuming is safe',
    handling:
      'The checkpoint is the smallest of: the first event that is not durable, the first that re-reads buffer or ' +
      'drop before they are durable, the reading times of partitions being copied.',
    sabotages: [
      {
        takesOut: 'events that are not durable, in the checkpoint',
        file: instance('lifecycle/task/task-checkpoint.ts'),
        symbol: 'appliedBelow',
        find: 'earlier(apply.workers.oldest(), rereads.oldestPending())',
        replace: 'rereads.oldestPending()',
        tests: [instanceTest('lifecycle/task/checkpoint.test.ts', 'stays at the first event that is not durable')],
      },
      {
        takesOut: 'the events that an entry drops before it is durable',
        file: instance('store/reread-set.ts'),
        symbol: 'absorb',
        find: 'if (!entry.durable) entry.undurable ??= event.time;',
        replace: '',
        tests: [
          instanceTest(
            'store/reread-set.test.ts',
            'that an entry drops before it is durable does not count as applied until then',
          ),
        ],
      },
      {
        takesOut: 'the wait for an entry that another request has made',
        file: instance('store/reread-set.ts'),
        symbol: 'add',
        find: ', this.#stored(requests)]);\n  }\n\n  async #stored',
        replace: ']);\n  }\n\n  async #stored',
        tests: [
          instanceTest(
            'store/reread-set.test.ts',
            'of another request does not count as applied until the entry of an earlier one is durable',
          ),
        ],
      },
      {
        takesOut: 'reading times of partitions being copied, in the checkpoint',
        file: instance('lifecycle/task/task-checkpoint.ts'),
        symbol: 'time',
        find: "if (state === 'starting' || state === 'copying') lower(readTime);",
        replace: 'void [state, readTime];',
        tests: [
          instanceTest(
            'lifecycle/task/checkpoint.test.ts',
            'stays at the read time of a partition that is being copied',
          ),
        ],
      },
      {
        takesOut: 'events in flight, in the first event that is not durable',
        file: instance('apply/apply-workers.ts'),
        symbol: 'oldestUnparked',
        find:
          'const inFlight = this.#inFlight === null || this.#inFlight.events.length === 0 ? null : ' +
          'this.#inFlight.first;',
        replace: 'const inFlight = null as bigint | null;',
        tests: [
          instanceTest(
            'apply/apply-workers-batches.test.ts',
            'keeps its bytes and its earliest time until all its events are durable',
          ),
        ],
      },
    ],
  },
  {
    number: 4,
    hazard:
      'With parallel apply workers the checkpoint must be below the first event that is not durable in any of them',
    handling: 'The checkpoint is the smallest over all workers.',
    sabotages: [
      {
        takesOut: 'the smallest time of the workers; the largest is taken instead',
        file: instance('apply/apply-workers.ts'),
        symbol: 'oldest',
        find: 'return this.#workers.map((worker) => worker.oldest()).reduce(earlier, null);',
        replace:
          'return this.#workers.map((worker) => worker.oldest()).reduce((a, b) => (earlier(a, b) === a ? b : a), ' +
          'null);',
        tests: [
          instanceTest(
            'apply/apply-workers-batches.test.ts',
            'are flushed up to a time once none has an earlier event',
          ),
          instanceTest(
            'lifecycle/task/checkpoint.test.ts',
            'stays at the event of a stalled apply worker while others continue',
          ),
        ],
      },
    ],
  },
  {
    number: 8,
    hazard: 'A cluster time is used with the wrong cluster, without an error',
    handling: 'The ids of both clusters are stored. An instance that finds other clusters does not continue.',
    sabotages: [
      {
        takesOut: 'the comparison when an instance restarts',
        file: instance('lifecycle/migration/clusters.ts'),
        symbol: 'openRecordedSource',
        find: 'if (source.clusterId === clusterId) return source;',
        replace: 'if (source.clusterId !== "") return source;',
        tests: [
          integrationTest(
            'contract/start-in-a-fleet.test.ts',
            'refuses a destination that holds a migration from another source',
          ),
        ],
      },
      {
        takesOut: 'the comparison when an instance joins the migration',
        file: instance('store/migration-record.ts'),
        symbol: 'refuseOtherMigration',
        find: "if (!sameClusters) throw new ConvoyError('migrationExists');",
        replace: 'void sameClusters;',
        tests: [
          instanceTest('store/metadata.test.ts', 'is joined only by instances with the same options and clusters'),
        ],
      },
    ],
  },
  {
    number: 11,
    hazard: 'A commit before all events have arrived loses the last ones',
    handling:
      'The commit takes a time of the source and drains every task past it. It takes a later time as long as later ' +
      'writes appear. Once a time is sealed, they are counted and no longer wait in memory: servers expire documents ' +
      'for as long as the commit takes.',
    sabotages: [
      {
        takesOut: 'the wait until the stream has passed the commit time',
        file: instance('lifecycle/task/apply-stage.ts'),
        symbol: 'isQuietUpTo',
        find: 'this.dispatcher.position >= time && this.dispatcher.isReadAgain',
        replace: 'this.dispatcher.isReadAgain',
        tests: [instanceTest('lifecycle/task/checkpoint.test.ts', 'before the stream has passed the commit time')],
      },
      {
        takesOut: 'the wait for pending re-reads',
        file: instance('lifecycle/task/sync-pipeline.ts'),
        symbol: 'isQuietUpTo',
        find: '!this.#rereads.anyUpTo(time) && ',
        replace: '',
        tests: [instanceTest('lifecycle/task/checkpoint.test.ts', 'while a re-read is pending')],
      },
      {
        takesOut: 'the later commit time after writes above the first one',
        file: instance('lifecycle/leader/commit-rounds.ts'),
        symbol: 'drainRounds',
        find: 'if (totalOf(lateWrites(watch.view, catalog)) > 0) continue;',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/leader/commit-rounds.test.ts',
            'is a later one while the source shows writes above the last',
          ),
        ],
      },
      {
        takesOut: 'the look for late writes before the destination is opened',
        file: instance('lifecycle/leader/commit.ts'),
        symbol: 'commit',
        find: 'await refuseLateWrites(deps, catalog, signal);',
        replace: 'void refuseLateWrites;',
        tests: [
          instanceTest(
            'lifecycle/leader/commit.test.ts',
            'is refused when a task has seen writes after the commit time',
          ),
        ],
      },
      {
        takesOut: 'renames from excluded namespaces, by which `$out` and `convertToCapped` replace a collection',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'isWrite',
        find: 'return to !== null && this.#isIncluded(to.database, to.name);',
        replace: "return to !== null && this.#isIncluded(to.database, to.name) && name === '';",
        tests: [
          instanceTest(
            'apply/event-dispatcher-limits.test.ts',
            'counts renames above it from excluded namespaces: $out replaces a collection by one of its own',
          ),
        ],
      },
      {
        takesOut: 'the counting of later events, which would fill the memory',
        file: instance('apply/events-ahead.ts'),
        symbol: 'push',
        find: 'event.event.time > this.#countsAfter) {',
        replace: 'event.event.time > this.#countsAfter && bytes < 0) {',
        tests: [
          instanceTest(
            'apply/event-dispatcher-limits.test.ts',
            'gives back the memory of later events, and only counts them',
          ),
        ],
      },
      {
        takesOut: 'the seal, for which the counting waits',
        file: instance('lifecycle/task/sync-tasks.ts'),
        symbol: 'syncTasks',
        find: 'followSeal(deps, sync, signal)',
        replace: 'Promise.resolve(void [followSeal, deps, sync, signal])',
        tests: [
          integrationTest(
            'lifecycle/held-commit.test.ts',
            'hold a commit that ends, though the source expires more meanwhile than fits into memory',
          ),
        ],
      },
    ],
  },
  {
    number: 131,
    hazard: 'A leader ends at the start; before the next one begins, a collection that it created goes on the source',
    handling:
      'A leader that starts the migration forgets the UUID pairs of earlier leaders: nothing is copied yet. An empty ' +
      'collection without a pair is left over, and Convoy drops it.',
    sabotages: [
      {
        takesOut: 'the removal of the pairs of earlier leaders',
        file: instance('lifecycle/leader/initialise.ts'),
        symbol: 'makePlanned',
        find: "await metadata.deleteMany('uuids', { epoch: { $lt: leaderEpoch } }, each);",
        replace: '',
        tests: [
          integrationTest(
            'lifecycle/starts-again.test.ts',
            'a collection that users drop while its leader is replaced at the start is not left over',
          ),
        ],
      },
    ],
  },
];
