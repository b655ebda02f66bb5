import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Where a stream starts, resumes and ends. */
export const streamHazards: readonly Hazard[] = [
  {
    number: 1,
    hazard: 'A write in flight at the start lands below the start time and is seen by neither copy nor stream',
    handling:
      'The start time lies above notes on all shards; a partition is read at one time, which is at least every event of its range that was dropped.',
    sabotages: [
      {
        takesOut: 'notes on all shards for a time above everything',
        file: instance('cluster/cluster-time.ts'),
        symbol: 'timeAboveAll',
        find: 'noteClients(cluster), (client) => appendNote(client, options));\n  return',
        replace: 'noteClients(cluster), (client) => currentTime(client, options));\n  return',
        tests: [instanceTest('cluster/reading.test.ts', 'with direct access is the highest of notes on all shards')],
      },
      {
        takesOut: 'the reading at one time',
        file: instance('cluster/snapshot-read.ts'),
        symbol: 'findCommand',
        find: "readConcern: { level: 'snapshot', atClusterTime: at }",
        replace: "readConcern: { level: 'majority' }",
        tests: [instanceTest('cluster/reading.test.ts', 'has index bounds, one time and the order of _id')],
      },
      {
        takesOut: 'the reading time above every dropped event',
        file: instance('copy/copy-partition.ts'),
        symbol: 'beginReading',
        find: 'highestTime([deps.position(), partition.dropped, ',
        replace: 'highestTime([deps.position(), ',
        tests: [
          instanceTest('copy/partitions.test.ts', 'is at least %s, and reached by the stream before anything is read'),
        ],
      },
    ],
  },
  {
    number: 2,
    hazard: 'Resuming is inclusive: the last event is seen again',
    handling: 'Streams are resumed by time; whole documents that may come again are put, and deltas are in doubt.',
    sabotages: [
      {
        takesOut: 'the putting of inserts that may come again',
        file: instance('apply/action.ts'),
        symbol: 'actionOf',
        find: "event.time <= bounds.watermark ? 'upsert' : 'insert'",
        replace: "'insert'",
        tests: [
          instanceTest(
            'apply/action.test.ts',
            'inserts what is new, and puts what may have been applied before a restart',
          ),
        ],
      },
      {
        takesOut: 'the doubt about events that a reopened stream shows again',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'route',
        find: 'if (step.reopened) this.#expectAgain(this.#readBelow);',
        replace: '',
        tests: [
          instanceTest('apply/event-dispatcher.test.ts', 'puts the deltas of the times that come again in doubt'),
          instanceTest('apply/event-dispatcher.test.ts', 'does not keep events above the ceiling twice'),
        ],
      },
    ],
  },
  {
    number: 3,
    hazard: 'The clock of the lag is not the point from which it is safe to resume',
    handling:
      'The checkpoint is the smallest of the first event that is not durable, what repairs hold, and the reading time of every partition being copied.',
    sabotages: [
      {
        takesOut: 'events that are not durable from the checkpoint',
        file: instance('lifecycle/task/task-checkpoint.ts'),
        symbol: 'appliedBelow',
        find: 'earlier(applyWorkers.oldest(), rereads.oldestBuffered());',
        replace: 'rereads.oldestBuffered();',
        tests: [instanceTest('lifecycle/task/checkpoint.test.ts', 'stays at the first event that is not durable')],
      },
      {
        takesOut: 'the reading times of partitions being copied from the checkpoint',
        file: instance('lifecycle/task/task-checkpoint.ts'),
        symbol: 'time',
        find: "if (state === 'starting' || state === 'copying') lower(readTime);",
        replace: 'void [state, readTime];',
        tests: [
          instanceTest(
            'lifecycle/task/checkpoint.test.ts',
            'stays at the reading time of a partition that is being copied',
          ),
        ],
      },
      {
        takesOut: 'events that are under way from the first that is not durable',
        file: instance('apply/apply-worker.ts'),
        symbol: 'oldestMoving',
        find: 'const inFlight = this.#inFlight === null || this.#inFlight.events.length === 0 ? null : this.#inFlight.first;',
        replace: 'const inFlight = null as bigint | null;',
        tests: [
          instanceTest(
            'apply/apply-worker.test.ts',
            'keeps its bytes and its earliest time until everything in it is durable',
          ),
        ],
      },
    ],
  },
  {
    number: 4,
    hazard: 'With parallel lanes the checkpoint has to lie below the first event that is not durable in any of them',
    handling: 'The low watermark over all lanes.',
    sabotages: [
      {
        takesOut: 'the smallest of the lanes, for the largest',
        file: instance('apply/apply-workers.ts'),
        symbol: 'oldest',
        find: 'return this.#workers.map((worker) => worker.oldest()).reduce(earlier, null);',
        replace:
          'return this.#workers.map((worker) => worker.oldest()).reduce((a, b) => (earlier(a, b) === a ? b : a), null);',
        tests: [
          instanceTest(
            'apply/apply-worker.test.ts',
            'are flushed up to a time once nothing earlier is left in any of them',
          ),
          instanceTest('lifecycle/task/checkpoint.test.ts', 'stays at the event of a stalled lane while others go on'),
        ],
      },
    ],
  },
  {
    number: 5,
    hazard: 'The stream of an idle shard stands still, and barriers of the fleet with it',
    handling: 'The tokens of empty batches count; whoever waits for a stream moves it on with a note.',
    sabotages: [
      {
        takesOut: 'the tokens of batches',
        file: instance('apply/change-stream-reader.ts'),
        symbol: 'next',
        find: 'if (time > this.#readBelow) this.#readBelow = time;',
        replace: 'if (time > this.#readBelow && batch.documents.length > 0) this.#readBelow = time;',
        tests: [instanceTest('apply/change-stream-reader.test.ts', 'goes on with the tokens of empty batches')],
      },
      {
        takesOut: 'the note for what waits until the stream has passed a time',
        file: instance('lifecycle/task/task-stream.ts'),
        symbol: 'untilRoutedOr',
        find: 'if (dispatcher.position >= time) return;\n    await this.#wake(signal);',
        replace: 'if (dispatcher.position >= time) return;',
        tests: [instanceTest('lifecycle/task/checkpoint.test.ts', 'an idle shard is moved on by whoever waits for it')],
      },
      {
        takesOut: 'the notes while the shares drain',
        file: instance('lifecycle/leader/commit-rounds.ts'),
        symbol: 'drained',
        find: 'await wakeSource(deps, signal);\n    await untilOrFor',
        replace: 'await untilOrFor',
        tests: [
          instanceTest(
            'lifecycle/leader/commit-rounds.test.ts',
            'is passed by idle streams because the source is given notes meanwhile',
          ),
        ],
      },
    ],
  },
  {
    number: 6,
    hazard: 'The time of a resume token can be ahead of the known cluster time, so that the lag would be negative',
    handling: "The source's time is never taken for earlier than what was read of it.",
    sabotages: [
      {
        takesOut: 'the comparison with what was read',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'sourceTime',
        find: 'return this.#sourceTime > this.#readBelow ? this.#sourceTime : this.#readBelow;',
        replace: 'return this.#sourceTime;',
        tests: [instanceTest('apply/source-time.test.ts', 'is not earlier than the token of what was read')],
      },
    ],
  },
  {
    number: 7,
    hazard: 'The history of the stream is lost (ChangeStreamHistoryLost, CappedPositionLost)',
    handling:
      'Ends the migration with a name of its own and the time where the stream would have to go on; never retried.',
    sabotages: [
      {
        takesOut: 'the name',
        file: instance('apply/change-stream-reader.ts'),
        symbol: 'read',
        find: "if (classify(error) === 'historyLost') throw await historyLost([this.client], this.#readBelow, signal);",
        replace: 'void historyLost;',
        tests: [
          instanceTest('apply/change-stream-reader.test.ts', 'ends by name when the oplog no longer reaches back'),
        ],
      },
      {
        takesOut: 'CappedPositionLost and ChangeStreamHistoryLost from what no repetition mends',
        file: instance('cluster/failure.ts'),
        symbol: 'codesByKind',
        find: 'CappedPositionLost: 136, ChangeStreamFatalError: 280, ChangeStreamHistoryLost: 286 ',
        replace: '',
        tests: [instanceTest('cluster/failure.test.ts', 'finds %s by the code')],
      },
    ],
  },
  {
    number: 8,
    hazard: 'A cluster time attaches silently to the wrong cluster',
    handling: 'The ids of both clusters are stored; an instance that finds others does not go on.',
    sabotages: [
      {
        takesOut: 'the comparison at the restart of an instance',
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
        takesOut: 'the comparison when the migration is joined',
        file: instance('store/migration-record.ts'),
        symbol: 'refuseOtherMigration',
        find: "if (!sameClusters) throw new ConvoyError('migrationExists');",
        replace: 'void sameClusters;',
        tests: [
          instanceTest('store/metadata.test.ts', 'is joined by instances with the same options and clusters only'),
        ],
      },
    ],
  },
  {
    number: 9,
    hazard: "The driver's own resumption of a stream can go back to an older token",
    handling:
      'The cursor is our own (`aggregate` and `getMore`); it is opened again at the token of the last batch, and the driver retries nothing.',
    sabotages: [
      {
        takesOut: 'the time of the last batch at the reopening',
        file: instance('apply/change-stream-reader.ts'),
        symbol: 'open',
        find: 'timestampOf(this.#readBelow)',
        replace: 'timestampOf(this.startAt)',
        tests: [
          instanceTest(
            'apply/change-stream-reader.test.ts',
            'never goes back, and goes on by time after a lost cursor, saying that events come again',
          ),
        ],
      },
      {
        takesOut: 'the switching off of what the driver repeats by itself',
        file: instance('cluster/driver/client-options.ts'),
        symbol: 'clientOptions',
        find: 'retryReads: false, retryWrites: false',
        replace: 'retryReads: true, retryWrites: true',
        tests: [
          instanceTest('cluster/driver/client-options.test.ts', 'leave repetitions to the one policy of the instance'),
        ],
      },
    ],
  },
  {
    number: 10,
    hazard: 'Two processes with the same identity both apply',
    handling:
      'Every owner takes an epoch in the metadata database, and every state write is conditional on it; the loser stops.',
    sabotages: [
      {
        takesOut: "the epoch from the condition of a share's writes",
        file: instance('store/task-record.ts'),
        symbol: 'update',
        find: '{ _id: taskId, epoch }',
        replace: '{ _id: taskId }',
        tests: [
          instanceTest(
            'store/metadata.test.ts',
            'gets a new epoch with every owner, keeps its sessions, and refuses former owners',
          ),
        ],
      },
      {
        takesOut: "the epoch from the condition of the leader's writes",
        file: instance('store/migration-record.ts'),
        symbol: 'updateAsLeader',
        find: '{ _id: recordId, leaderEpoch, ...notBeyond(set) }',
        replace: '{ _id: recordId, ...notBeyond(set) }',
        tests: [instanceTest('store/metadata.test.ts', 'takes writes of the present leader only')],
      },
    ],
  },
  {
    number: 11,
    hazard: 'A commit while events are still to come drops the tail',
    handling:
      'The commit takes a time of the source, drains every share past it, and takes a later one as long as later writes are seen.',
    sabotages: [
      {
        takesOut: 'the wait until the stream has passed the commit time',
        file: instance('lifecycle/task/sync-pipeline.ts'),
        symbol: 'isQuietUpTo',
        find: 'this.#dispatcher.position >= time && this.#dispatcher.readAgain',
        replace: 'this.#dispatcher.readAgain',
        tests: [instanceTest('lifecycle/task/checkpoint.test.ts', 'before the stream has passed the commit time')],
      },
      {
        takesOut: 'the wait for what is doubtful',
        file: instance('lifecycle/task/sync-pipeline.ts'),
        symbol: 'isQuietUpTo',
        find: '!this.#rereads.anyUpTo(time) && ',
        replace: '',
        tests: [instanceTest('lifecycle/task/checkpoint.test.ts', 'while a key is in doubt')],
      },
      {
        takesOut: 'the later commit time after writes above the first',
        file: instance('lifecycle/leader/commit-rounds.ts'),
        symbol: 'drainRounds',
        find: 'if (lateWrites(watch.view, catalog) > 0) continue;',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/leader/commit-rounds.test.ts',
            'is a later one while the source shows writes above the last',
          ),
        ],
      },
      {
        takesOut: 'the last look before the destination is opened',
        file: instance('lifecycle/leader/commit.ts'),
        symbol: 'commit',
        find: 'await refuseLateWrites(deps, leaderEpoch, catalog, signal);',
        replace: 'void refuseLateWrites;',
        tests: [
          instanceTest(
            'lifecycle/leader/commit.test.ts',
            'is refused when a share has seen writes after the commit time',
          ),
        ],
      },
    ],
  },
  {
    number: 73,
    hazard:
      'Before 6.0 an event that fits into no reply ends every stream of a router, whatever its stages leave out: that of definition changes and those of the verifier',
    handling:
      'Definition changes are read from each shard itself, where it may be asked. The verifier takes what it has missed for unknown, and compares again.',
    open: 'a source that is read through its router alone.',
    sabotages: [
      {
        takesOut: 'the streams of the shards themselves',
        file: instance('ddl/ddl-stream.ts'),
        symbol: 'open',
        find: "const shards = kind === 'sharded' && !isAtLeast(version, 6, 0) ? this.#shards() : [];",
        replace: "const shards: NodeClient[] = kind === 'sharded' && !isAtLeast(version, 0, 0) ? this.#shards() : [];",
        tests: [
          instanceTest(
            'ddl/ddl-stream.test.ts',
            'reads each shard itself before 6.0 where it may, and brings what is below the times of all, in order',
          ),
          integrationTest(
            'kinds/large-events.test.ts',
            'between sharded clusters a document whose event fits into no reply arrives, and what comes behind it is verified',
          ),
        ],
      },
      {
        takesOut: 'the order over the shards',
        file: instance('ddl/ddl-stream.ts'),
        symbol: 'next',
        find: 'this.#parts.length > 1 && time >= readBelow;',
        replace: 'this.#parts.length > 9 && time >= readBelow;',
        tests: [
          instanceTest(
            'ddl/ddl-stream.test.ts',
            'reads each shard itself before 6.0 where it may, and brings what is below the times of all, in order',
          ),
        ],
      },
      {
        takesOut: 'the comparison after events that the verifier could not read',
        file: instance('verify/embedded/touched-stream.ts'),
        symbol: 'read',
        find: ' || isEventTooLarge(error)) throw new TouchesLostError();',
        replace: ' || (isEventTooLarge(error) && signal.aborted)) throw new TouchesLostError();',
        tests: [
          integrationTest(
            'kinds/large-events.test.ts',
            'between sharded clusters a document whose event fits into no reply arrives, and what comes behind it is verified',
          ),
        ],
      },
    ],
  },
];
