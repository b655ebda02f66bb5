import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Where a change stream opens, resumes and ends. */
export const streamHazards: readonly Hazard[] = [
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
