import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Limits of servers, and what is tried again. */
export const limitHazards: readonly Hazard[] = [
  {
    number: 27,
    hazard: 'A message holds 48 MB and 100,000 operations, a document and a command 16 MB',
    handling: 'Waves and batches are bounded in bytes and counts before anything is added.',
    sabotages: [
      {
        takesOut: 'the bound of a wave in statements',
        file: instance('apply/write-batch.ts'),
        symbol: 'composeBatch',
        find: 'items.size >= batchItemsMax || ',
        replace: '',
        tests: [instanceTest('apply/apply-worker.test.ts', 'a wave is bounded in statements')],
      },
      {
        takesOut: 'the bound of a wave in bytes',
        file: instance('apply/write-batch.ts'),
        symbol: 'composeBatch',
        find: ' || bytes >= batchBytesMax',
        replace: '',
        tests: [instanceTest('apply/batch-sending.test.ts', 'a wave is bounded in bytes')],
      },
      {
        takesOut: 'the bound of copied batches in bytes',
        file: instance('copy/batch-size.ts'),
        symbol: 'documents',
        find: 'Math.min(batchDocumentsMax, Math.max(1, Math.floor(batchBytes / this.#documentBytes)))',
        replace: 'batchDocumentsMax + 0 * batchBytes',
        tests: [
          instanceTest(
            'copy/batch-size.test.ts',
            'is bounded in bytes from the first batch on where the size of the documents is known',
          ),
        ],
      },
    ],
  },
  {
    number: 28,
    hazard: 'An event larger than 16 MB ends the stream',
    handling:
      'Servers from 7.0 on split such events; on earlier ones the stream is opened again without what is large until the event has passed, and its key is read anew.',
    open: 'a capped collection of which such an insert is shown.',
    sabotages: [
      {
        takesOut: 'the stream without documents',
        file: instance('apply/change-stream-reader.ts'),
        symbol: 'read',
        find: 'if (!isEventTooLarge(error) || this.#passing !== null) throw error;',
        replace: 'if (!isEventTooLarge(error) || this.#passing === null) throw error;',
        tests: [
          instanceTest(
            'apply/large-event.test.ts',
            'comes without its document, and documents come again behind its time',
          ),
          integrationTest(
            'kinds/large-events.test.ts',
            'a document whose event fits into no reply arrives, and the stream goes on behind it: from %s',
          ),
        ],
      },
      {
        takesOut: 'the putting together of parts',
        file: instance('apply/change-stream-reader.ts'),
        symbol: 'next',
        find: 'splitsLargeEvents(this.version) ? this.#fragments.assembled(batch.documents) : batch.documents',
        replace: 'splitsLargeEvents(this.version) ? batch.documents : batch.documents',
        tests: [
          instanceTest(
            'apply/large-event.test.ts',
            'comes in parts where the server splits it, and is put together, also from several batches',
          ),
        ],
      },
      {
        takesOut: 'the owner of an insert that has lost its document',
        file: instance('apply/event-dispatcher.ts'),
        symbol: 'isOwned',
        find: "collection.readBy === 'uuid' || collection.owns(",
        replace: 'collection.owns(',
        tests: [
          instanceTest('apply/large-event.test.ts', "is the shard's own when it is an insert, whose key does not tell"),
        ],
      },
    ],
  },
  {
    number: 29,
    hazard: 'A write-concern error beside duplicate-key errors',
    handling:
      'Both are looked at: duplicate keys are read anew, a write-concern error is tried again under the same number.',
    sabotages: [
      {
        takesOut: 'write-concern timeouts from what is tried again',
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
        tests: [instanceTest('store/metadata.test.ts', 'that %s failed for is not written')],
      },
    ],
  },
  {
    number: 30,
    hazard: 'A retry after a step-down returns NamespaceExists or IndexAlreadyExists',
    handling: 'What is there is looked at, and accepted when it is what was asked for.',
    sabotages: [
      {
        takesOut: 'the acceptance of a collection that exists',
        file: instance('catalog/make/create-collection.ts'),
        symbol: 'ensureCreated',
        find: 'if (codeOf(failure) !== serverCode.namespaceExists) throw failure;',
        replace: 'throw failure;',
        tests: [instanceTest('catalog/repeated-ddl.test.ts', 'a collection that an earlier sending has made is taken')],
      },
      {
        takesOut: 'the look for indexes that an earlier sending has built',
        file: instance('catalog/make/build-indexes.ts'),
        symbol: 'createIndexes',
        find: 'if (refused.length === 0) return;',
        replace: '',
        tests: [instanceTest('catalog/repeated-ddl.test.ts', 'an index that an earlier sending has built is taken')],
      },
      {
        takesOut: 'the acceptance of a collection that is sharded already',
        file: instance('catalog/make/place-chunks.ts'),
        symbol: 'shardCollection',
        find: 'if (codeOf(failure) !== serverCode.alreadyInitialized) throw failure;',
        replace: 'throw failure;',
        tests: [
          instanceTest('catalog/repeated-ddl.test.ts', 'a collection that an earlier sending has sharded is taken'),
        ],
      },
    ],
  },
  {
    number: 31,
    hazard: 'Validators reject legacy documents',
    handling: 'Every write bypasses document validation.',
    sabotages: [
      {
        takesOut: 'the bypass',
        file: instance('cluster/driver/write-command.ts'),
        symbol: 'writeCommand',
        find: "command['bypassDocumentValidation'] = true",
        replace: "command['bypassDocumentValidation'] = false",
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'sends the statements untouched, with majority and without validation',
          ),
        ],
      },
    ],
  },
  {
    number: 66,
    hazard: 'A find with `singleBatch` and no `batchSize` returns 101 documents, whatever its limit',
    handling:
      "Convoy's state is read with a batch size, and on behind the last document until what was asked for is there.",
    sabotages: [
      {
        takesOut: 'the batch size',
        file: instance('store/metadata.ts'),
        symbol: 'page',
        find: '      batchSize: limit,\n',
        replace: '      singleBatch: true,\n',
        tests: [
          integrationTest(
            'store/metadata-pages.test.ts',
            'documents of the state are found up to the number asked for; a find without a batch size ends after 101',
          ),
        ],
      },
    ],
  },
  {
    number: 32,
    hazard: 'The cursor is killed or not found in the middle of the copy',
    handling:
      'Opened again at the same time after the last document; a time that has become too old starts the partition anew.',
    sabotages: [
      {
        takesOut: 'the last document as the place to go on',
        file: instance('copy/partition-reader.ts'),
        symbol: 'open',
        find: 'const from = this.#last ?? lower;\n    const min',
        replace: 'const from = lower;\n    const min',
        tests: [
          instanceTest(
            'copy/partitions.test.ts',
            'stays the same when a lost cursor is opened again after the last document',
          ),
        ],
      },
      {
        takesOut: 'the new start after a time that is too old',
        file: instance('copy/copy-partition.ts'),
        symbol: 'copyPartition',
        find: "['snapshotTooOld', 'catalogChanged']",
        replace: "['catalogChanged']",
        tests: [
          instanceTest(
            'copy/partitions.test.ts',
            'that is too old is taken anew, and what the attempt had written is replaced',
          ),
        ],
      },
      {
        takesOut: 'lost cursors from what is tried again',
        file: instance('store/retryable.ts'),
        symbol: 'isRetryable',
        find: "return kind === 'retryable' || kind === 'cursorLost';",
        replace: "return kind === 'retryable';",
        tests: [instanceTest('lifecycle/migration/runtime.test.ts', 'a lost cursor is opened again by its owner')],
      },
    ],
  },
  {
    number: 33,
    hazard: "One shard's primary steps down",
    handling:
      'Retried with growing delays for 30 minutes by default from the first failure on, with a warning in progress.',
    sabotages: [
      {
        takesOut: 'step-downs from what is tried again',
        file: instance('cluster/failure.ts'),
        symbol: 'codesByKind',
        find: 'PrimarySteppedDown: 189,',
        replace: '',
        tests: [instanceTest('cluster/failure.test.ts', 'finds %s by the code')],
      },
      {
        takesOut: 'the patience of half an hour',
        file: instance('config/instance-schema.ts'),
        symbol: 'retry_minutes',
        find: 'retry_minutes: z.number().min(0).max(24 * 60).default(30)',
        replace: 'retry_minutes: z.number().min(0).max(24 * 60).default(1)',
        tests: [
          instanceTest(
            'lifecycle/migration/runtime.test.ts',
            'a primary that steps down is waited for half an hour, with a warning',
          ),
        ],
      },
      {
        takesOut: 'the first failure as where the patience begins',
        file: instance('cluster/retry.ts'),
        symbol: 'retrying',
        find: 'let failures = 0;\n  let failingSince_ms = 0;',
        replace: 'let failures = 1;\n  let failingSince_ms = policy.now();',
        tests: [
          instanceTest(
            'cluster/retry.test.ts',
            'counts from the first failure: work that went well before takes nothing of the patience',
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
            'a primary that steps down is waited for half an hour, with a warning',
          ),
        ],
      },
    ],
  },
  {
    number: 71,
    hazard:
      'Deltas grow when they become pipelines: updates of 10 KB documents became a command of 61 MB. A document beside a large key fits into no statement',
    handling:
      'Commands are bounded by the bytes of their statements, which are made one after the other. What fits into no statement is read anew, and inserted once what was there is removed.',
    sabotages: [
      {
        takesOut: 'the bound of commands in bytes of statements',
        file: instance('apply/send-batch.ts'),
        symbol: 'sendBulk',
        find: '({ statement }) => statement.length, bulkBytesMax)',
        replace: '({ statement }) => 0 * statement.length, bulkBytesMax)',
        tests: [
          instanceTest(
            'apply/batch-limits.test.ts',
            'waves of updates that grow to many times their events meet no limit of the servers',
          ),
        ],
      },
      {
        takesOut: 'the bound of a statement',
        file: instance('apply/send-batch.ts'),
        symbol: 'unsendable',
        find: 'return statement.length > statementBytesMax ?',
        replace: 'return statement.length > 4 * statementBytesMax ?',
        tests: [
          instanceTest(
            'apply/batch-limits.test.ts',
            'a statement that is larger than a command may be is not sent: its key is read anew',
          ),
        ],
      },
      {
        takesOut: 'the bound of a put',
        file: instance('store/write-refused.ts'),
        symbol: 'rereadOfUpsert',
        find: 'if (statement.length > statementBytesMax)',
        replace: 'if (statement.length > 4 * statementBytesMax)',
        tests: [
          instanceTest(
            'copy/copy-limits.test.ts',
            'a document that fits into no statement beside its key is not put, but read anew',
          ),
        ],
      },
      {
        takesOut: 'the insert of what fits into no statement',
        file: instance('reread/reread-batch.ts'),
        symbol: 'writings',
        find: 'rereadOfUpsert(statement, document, collection) === null)',
        replace: "rereadOfUpsert(statement, document, collection) !== 'undefinedShardKey')",
        tests: [
          instanceTest(
            'reread/rereader.test.ts',
            'whose document fits into no statement beside its key is inserted, once what was there is removed',
          ),
        ],
      },
    ],
  },
  {
    number: 79,
    hazard:
      'A find for one batch ends where the batch does: of more than 10,000 copies the rest counts as not copied, is never verified, and no commit is offered',
    handling: 'Whatever is read of the state is read by pages until there are no more.',
    sabotages: [
      {
        takesOut: 'the pages behind the first',
        file: instance('store/metadata.ts'),
        symbol: 'findNames',
        find: 'filter, Infinity, signal,',
        replace: 'filter, 1, signal,',
        tests: [
          instanceTest(
            'store/metadata.test.ts',
            'has the names of all copies, also where there are more than one reply holds',
          ),
        ],
      },
    ],
  },
  {
    number: 80,
    hazard:
      'Servers refuse an insert of a document above 16 MB by BadValue (2), which says much else as well: the failure has no name that helps',
    handling:
      'The door knows the bytes of what it sent: such an insert counts as BSONObjectTooLarge, as updates say it, and the migration names `documentTooLarge`.',
    sabotages: [
      {
        takesOut: 'the look at the bytes of what was refused',
        file: instance('cluster/driver/write-command.ts'),
        symbol: 'writeOutcome',
        find: "kind === 'insert' && code === badValueCode &&",
        replace: "kind === 'insert' && code === badValueCode + 1 &&",
        tests: [
          integrationTest(
            'cluster/writing.test.ts',
            'return documents that are too large as failures of their statements',
          ),
        ],
      },
    ],
  },
];
