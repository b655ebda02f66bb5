import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Failures that pass by themselves, and what a retry meets. */
export const failureHazards: readonly Hazard[] = [
  {
    number: 29,
    hazard: 'A write-concern error comes beside duplicate-key errors',
    handling:
      'Both are handled: documents of duplicate keys are re-read, a write-concern error is retried under the same ' +
      'number.',
    sabotages: [
      {
        takesOut: 'write-concern timeouts, in the codes that are retried',
        file: instance('cluster/failure.ts'),
        symbol: 'codesByKind',
        find: 'WriteConcernTimeout: 64,',
        replace: '',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'throws a write-concern error (%i) as retryable, also beside duplicate keys and for commands',
          ),
        ],
      },
      {
        takesOut: 'write-concern errors of state writes',
        file: instance('store/metadata.ts'),
        symbol: 'throwWriteError',
        find: 'failures?.[0] ?? concern',
        replace: 'failures?.[0] ?? (concern === undefined ? concern : undefined)',
        tests: [instanceTest('store/metadata.test.ts', 'is not written when %s failed')],
      },
    ],
  },
  {
    number: 30,
    hazard: 'A retry after a stepdown returns NamespaceExists or IndexAlreadyExists',
    handling: 'Convoy reads what exists and accepts it if it is what was requested.',
    sabotages: [
      {
        takesOut: 'the acceptance of a collection that exists',
        file: instance('catalog/create-collections.ts'),
        symbol: 'sendCreate',
        find: 'if (codeOf(failure) !== serverErrorCode.namespaceExists) throw failure;',
        replace: 'throw failure;',
        tests: [instanceTest('catalog/repeated-ddl.test.ts', 'accepts a collection that an earlier attempt created')],
      },
      {
        takesOut: 'the look for indexes that an earlier attempt has built',
        file: instance('catalog/build-indexes.ts'),
        symbol: 'failureOf',
        find: 'return indexes.every((index) => isPresent(shownName(plan.entry), index, present)) ? null : failure;',
        replace: 'return present.size >= 0 ? failure : null;',
        tests: [instanceTest('catalog/repeated-ddl.test.ts', 'accepts an index that an earlier attempt built')],
      },
      {
        takesOut: 'the acceptance of a collection that is sharded already',
        file: instance('catalog/place-chunks.ts'),
        symbol: 'shardCollection',
        find: 'if (codeOf(failure) !== serverErrorCode.alreadyInitialized) throw failure;',
        replace: 'throw failure;',
        tests: [instanceTest('catalog/repeated-ddl.test.ts', 'accepts a collection that an earlier attempt sharded')],
      },
    ],
  },
  {
    number: 32,
    hazard: 'The cursor is killed or not found in the middle of the copy',
    handling:
      'It is reopened at the same time after the last document. If that time is too old, the partition starts again.',
    sabotages: [
      {
        takesOut: 'the last document as the place to resume',
        file: instance('copy/partition-reader.ts'),
        symbol: 'openCursor',
        find: 'const from = this.#last ?? lower;\n    const min',
        replace: 'const from = lower;\n    const min',
        tests: [
          instanceTest(
            'copy/partitions.test.ts',
            'stays the same when a lost cursor is reopened after the last document',
          ),
        ],
      },
      {
        takesOut: 'the restart after a time that is too old',
        file: instance('cluster/failure.ts'),
        symbol: 'mayReadLater',
        find: "['snapshotTooOld', 'catalogChanged']",
        replace: "['catalogChanged']",
        tests: [
          instanceTest(
            'copy/partitions.test.ts',
            'is chosen again when it is too old, and the next attempt replaces the documents of the first',
          ),
        ],
      },
      {
        takesOut: 'lost cursors, in the failures that are retried',
        file: instance('store/fenced-writer.ts'),
        symbol: 'isRetryable',
        find: "return kind === 'retryable' || kind === 'cursorLost';",
        replace: "return kind === 'retryable';",
        tests: [instanceTest('lifecycle/migration/runtime.test.ts', 'a lost cursor is reopened by its owner')],
      },
    ],
  },
  {
    number: 33,
    hazard: "A shard's primary steps down",
    handling:
      'Operations are retried with growing delays for 30 minutes by default, counted from the first failure, with a ' +
      'warning in progress.',
    sabotages: [
      {
        takesOut: 'stepdowns, in the failures that are retried',
        file: instance('cluster/failure.ts'),
        symbol: 'codesByKind',
        find: 'PrimarySteppedDown: 189,',
        replace: '',
        tests: [instanceTest('cluster/failure.test.ts', "retries errors of the server's category %s")],
      },
      {
        takesOut: 'the retries for half an hour',
        file: instance('config/instance-schema.ts'),
        symbol: 'retry_minutes',
        find: 'retry_minutes: z.number().min(0).max(24 * 60).default(30)',
        replace: 'retry_minutes: z.number().min(0).max(24 * 60).default(1)',
        tests: [
          instanceTest(
            'lifecycle/migration/runtime.test.ts',
            'a stepping-down primary is retried for half an hour, with a warning',
          ),
        ],
      },
      {
        takesOut: 'the first failure as the begin of that half hour',
        file: instance('async/retry.ts'),
        symbol: 'retrying',
        find: 'let failures = 0;\n  let failingSince_ms = 0;',
        replace: 'let failures = 1;\n  let failingSince_ms = policy.now();',
        tests: [
          instanceTest(
            'async/retry.test.ts',
            'counts from the first failure: earlier progress does not count against the limit',
          ),
        ],
      },
      {
        takesOut: 'the warning',
        file: instance('lifecycle/migration/runtime.ts'),
        symbol: 'createRuntime',
        find: 'retries.set(notice.what, notice);',
        replace: '',
        tests: [
          instanceTest(
            'lifecycle/migration/runtime.test.ts',
            'a stepping-down primary is retried for half an hour, with a warning',
          ),
        ],
      },
    ],
  },
  {
    number: 150,
    hazard:
      'A router of 8.0 refuses a read at a time before the creation of its database as it refuses a transaction that ' +
      'may be tried again: the copy repeats the read at the same time until its retries end',
    handling: 'For a read at a time the refusal means that the time is too old: the next attempt takes a later one.',
    sabotages: [
      {
        takesOut: 'the meaning of the refusal',
        file: instance('cluster/driver/driver-node-client.ts'),
        symbol: 'openCursor',
        find: 'throw failureOfRead(error, one);',
        replace: 'throw failureOfRead(error, {});',
        tests: [
          integrationTest(
            'cluster/reading.test.ts',
            'before the last change of its database is refused, and may be tried at a later time',
          ),
        ],
      },
      {
        takesOut: 'the difference to transactions',
        file: instance('cluster/failure.ts'),
        symbol: 'failureOfRead',
        find: '!isAtTime || codeOf(error)',
        replace: 'codeOf(error)',
        tests: [instanceTest('cluster/failure.test.ts', 'takes a change of place for a time too old only of %s')],
      },
    ],
  },
  {
    number: 201,
    hazard:
      'A server refuses for a moment a call that a command needs, as during an election: the command is answered ' +
      'with an internal error, and nobody knows whether to send it again',
    handling:
      'The answer says that a cluster was not available, what it refused with, and that the command may be sent ' +
      'again. A refusal that an operator can remove has its own name.',
    sabotages: [
      {
        takesOut: 'the name of what passes',
        file: instance('lifecycle/instance/fleet-command.ts'),
        symbol: 'passingKinds',
        find: "new Set(['retryable', 'cursorLost', 'snapshotTooOld', 'catalogChanged'])",
        replace: "new Set(['none'])",
        tests: [
          instanceTest(
            'lifecycle/instance/fleet-command-command-refusals.test.ts',
            'a command that meets a failure which passes says so, and that it may be sent again: %i',
          ),
          instanceTest(
            'lifecycle/instance/fleet-command-command-refusals.test.ts',
            'a command that loses a connection says that it may be sent again',
          ),
        ],
      },
      {
        takesOut: 'the name of what an operator can remove',
        file: instance('lifecycle/instance/fleet-command.ts'),
        symbol: 'refusalOf',
        find: 'return knownFailure(thrown) ?? (passingKinds',
        replace: 'return (passingKinds',
        tests: [
          instanceTest(
            'lifecycle/instance/fleet-command-command-refusals.test.ts',
            'a command that meets what an operator can remove names it, and nothing else gets a name',
          ),
        ],
      },
    ],
  },
];
