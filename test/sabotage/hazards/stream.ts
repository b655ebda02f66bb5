import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Where a change stream opens, resumes and ends. */
export const streamHazards: readonly Hazard[] = [
  {
    number: 2,
    hazard: 'Resuming is inclusive: the stream returns the last event again',
    handling:
      'Streams resume by time. Inserts and replacements that may return become upserts; documents of such deltas are ' +
      're-read.',
    sabotages: [
      {
        takesOut: 'the upsert of inserts that may return',
        file: instance('apply/action.ts'),
        symbol: 'actionOf',
        find: "event.time <= bounds.watermark ? 'upsert' : 'insert'",
        replace: "'insert'",
        tests: [
          instanceTest(
            'apply/action.test.ts',
            'inserts new documents, and upserts those that may have been applied before a restart',
          ),
        ],
      },
      {
        takesOut: 'the re-read for events that a reopened stream returns again',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'route',
        find: 'if (step.reopened) this.#expectAgain(this.#readBelow);',
        replace: '',
        tests: [
          instanceTest('apply/event-dispatcher.test.ts', 're-reads the deltas of repeated times'),
          instanceTest('apply/event-dispatcher.test.ts', 'does not hold events after the commit time twice'),
        ],
      },
    ],
  },
  {
    number: 5,
    hazard: 'The stream of an idle shard does not advance, and blocks barriers of the fleet',
    handling: 'Resume tokens of empty batches advance the stream. Whoever waits for a stream appends an oplog note.',
    sabotages: [
      {
        takesOut: 'the resume tokens of empty batches',
        file: instance('apply/change-stream-reader.ts'),
        symbol: 'next',
        find: 'if (time > this.#readBelow) this.#readBelow = time;',
        replace: 'if (time > this.#readBelow && batch.documents.length > 0) this.#readBelow = time;',
        tests: [instanceTest('apply/change-stream-reader.test.ts', 'advances with the tokens of empty batches')],
      },
      {
        takesOut: 'the note for a wait until the stream has passed a time',
        file: instance('lifecycle/task/apply-stage.ts'),
        symbol: 'untilRoutedOr',
        find: 'if (dispatcher.position >= time) return;\n    await this.#wake(signal);',
        replace: 'if (dispatcher.position >= time) return;',
        tests: [instanceTest('lifecycle/task/checkpoint.test.ts', 'an idle shard is advanced by whoever waits for it')],
      },
      {
        takesOut: 'the notes while the tasks drain',
        file: instance('lifecycle/leader/commit-rounds.ts'),
        symbol: 'drained',
        find: 'await wakeSource(deps, signal);\n    await untilOrFor',
        replace: 'await untilOrFor',
        tests: [
          instanceTest(
            'lifecycle/leader/commit-rounds.test.ts',
            'is passed by idle streams because of notes on the source',
          ),
        ],
      },
    ],
  },
  {
    number: 6,
    hazard: 'The time of a resume token is ahead of the known cluster time, and the lag becomes negative',
    handling: "The source's time is never taken to be earlier than what was read of it.",
    sabotages: [
      {
        takesOut: 'the comparison with what was read',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'sourceTime',
        find: 'return this.#sourceTime > this.#readBelow ? this.#sourceTime : this.#readBelow;',
        replace: 'return this.#sourceTime;',
        tests: [instanceTest('apply/change-stream-reader-time.test.ts', 'is not earlier than the latest token')],
      },
    ],
  },
  {
    number: 7,
    hazard: 'The history of the stream is lost (ChangeStreamHistoryLost, CappedPositionLost)',
    handling:
      'The migration ends with its own error, which names the time from which the stream would have to resume. It is ' +
      'never retried.',
    sabotages: [
      {
        takesOut: 'the error of its own',
        file: instance('apply/change-stream-reader.ts'),
        symbol: 'read',
        find: "if (classify(error) === 'historyLost') throw await historyLost([this.client], this.#readBelow, signal);",
        replace: 'void historyLost;',
        tests: [
          instanceTest('apply/change-stream-reader.test.ts', 'ends by name when the oplog no longer reaches back'),
        ],
      },
      {
        takesOut: 'CappedPositionLost and ChangeStreamHistoryLost, in the codes that are not retried',
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
    hazard: 'The driver resumes a change stream by itself, possibly from an older token',
    handling:
      'Convoy has its own cursor (`aggregate` and `getMore`) and reopens it at the time of its last token. The ' +
      'driver retries nothing.',
    sabotages: [
      {
        takesOut: 'the time of the last batch, when the stream is reopened',
        file: instance('apply/change-stream-reader.ts'),
        symbol: 'open',
        find: 'timestampOf(this.#readBelow)',
        replace: 'timestampOf(this.startAt)',
        tests: [
          instanceTest(
            'apply/change-stream-reader.test.ts',
            'never goes back; resumes by time after a lost cursor and reports that events repeat',
          ),
        ],
      },
      {
        takesOut: 'the options that keep the driver from retrying',
        file: instance('cluster/driver/clients.ts'),
        symbol: 'clientOptions',
        find: 'retryReads: false, retryWrites: false',
        replace: 'retryReads: true, retryWrites: true',
        tests: [instanceTest('cluster/driver/clients.test.ts', 'leave retries to the one policy of the instance')],
      },
    ],
  },
  {
    number: 73,
    hazard:
      'Before 6.0 an event that fits into no reply ends every stream of a router, whatever its stages omit: the DDL ' +
      "watcher's and the verifier's",
    handling:
      'DDL changes are read from each shard itself, where that is possible. The verifier treats what it missed as ' +
      'unknown and compares again.',
    open: 'a source that can be read through its router alone.',
    sabotages: [
      {
        takesOut: 'the streams of the shards themselves',
        file: instance('ddl/ddl-watcher.ts'),
        symbol: 'open',
        find: "const shards = kind === 'sharded' && !isAtLeast(version, 6, 0) ? this.#shards() : [];",
        replace: "const shards: NodeClient[] = kind === 'sharded' && !isAtLeast(version, 0, 0) ? this.#shards() : [];",
        tests: [
          instanceTest(
            'ddl/ddl-watcher.test.ts',
            'reads each shard directly before 6.0 if it may, and returns what is below the times of all, in order',
          ),
          integrationTest(
            'kinds/large-events.test.ts',
            'between sharded clusters a document with a too large event arrives, and later changes are verified',
          ),
        ],
      },
      {
        takesOut: 'the order over the shards',
        file: instance('ddl/ddl-watcher.ts'),
        symbol: 'next',
        find: 'this.#parts.length > 1 && time >= readBelow;',
        replace: 'this.#parts.length > 9 && time >= readBelow;',
        tests: [
          instanceTest(
            'ddl/ddl-watcher.test.ts',
            'reads each shard directly before 6.0 if it may, and returns what is below the times of all, in order',
          ),
        ],
      },
      {
        takesOut: 'the comparison after events that the verifier could not read',
        file: instance('verify/embedded/side-follower.ts'),
        symbol: 'read',
        find: ' || isEventTooLarge(error)) throw new TouchesLostError();',
        replace: ' || (isEventTooLarge(error) && signal.aborted)) throw new TouchesLostError();',
        tests: [
          integrationTest(
            'kinds/large-events.test.ts',
            'between sharded clusters a document with a too large event arrives, and later changes are verified',
          ),
        ],
      },
    ],
  },
];
