import type { Hazard } from '../hazard.js';
import { instance, instanceTest, integrationTest } from '../places.js';

/** Limits of messages, documents and replies, and checks of the destination. */
export const limitHazards: readonly Hazard[] = [
  {
    number: 27,
    hazard: 'A message holds 48 MB and 100,000 operations, a document and a command 16 MB',
    handling: 'Write batches and copied batches are bounded in bytes and counts before anything is added.',
    sabotages: [
      {
        takesOut: 'the bound of a write batch in statements',
        file: instance('apply/write-batch.ts'),
        symbol: 'composeBatch',
        find: 'items.size >= batchItemsMax || ',
        replace: '',
        tests: [instanceTest('apply/apply-workers-batches.test.ts', 'a batch is bounded in statements')],
      },
      {
        takesOut: 'the bound of a write batch in bytes',
        file: instance('apply/write-batch.ts'),
        symbol: 'composeBatch',
        find: ' || bytes >= batchBytesMax',
        replace: '',
        tests: [instanceTest('apply/send-batch.test.ts', 'a batch is bounded in bytes')],
      },
      {
        takesOut: 'the bound of copied batches in bytes',
        file: instance('cluster/reads.ts'),
        symbol: 'documents',
        find: 'Math.min(batchDocumentsMax, Math.max(1, Math.floor(batchBytes / this.#documentBytes)))',
        replace: 'batchDocumentsMax + 0 * batchBytes',
        tests: [
          instanceTest(
            'cluster/reads.test.ts',
            'is bounded in bytes from the first batch when the document size is known',
          ),
        ],
      },
    ],
  },
  {
    number: 28,
    hazard: 'An event larger than 16 MB ends the stream',
    handling:
      'Servers from 7.0 on split such events. On earlier ones the stream is reopened without large fields until the ' +
      'event has passed, and the document is re-read.',
    open: 'a capped collection that shows such an insert.',
    sabotages: [
      {
        takesOut: 'the stream without documents',
        file: instance('apply/change-stream-reader.ts'),
        symbol: 'read',
        find: 'if (this.#passing !== null) throw await unreadableEvent',
        replace: 'if (this.#passing === null) throw await unreadableEvent',
        tests: [
          instanceTest(
            'apply/change-stream-reader-large.test.ts',
            'comes without its document; later events have theirs again',
          ),
          integrationTest(
            'kinds/large-events.test.ts',
            'a document whose event fits into no reply arrives, and the stream continues after it: from %s',
          ),
        ],
      },
      {
        takesOut: 'the joining of fragments',
        file: instance('apply/change-stream-reader.ts'),
        symbol: 'next',
        find: 'splitsLargeEvents(this.version) ? this.#fragments.assembled(batch.documents) : batch.documents',
        replace: 'splitsLargeEvents(this.version) ? batch.documents : batch.documents',
        tests: [
          instanceTest(
            'apply/change-stream-reader-large.test.ts',
            'is assembled where the server splits it, also from several batches',
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
          instanceTest(
            'apply/change-stream-reader-large.test.ts',
            'belongs to the shard when it is an insert, whose key does not show its owner',
          ),
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
        find: 'command.bypassDocumentValidation = true',
        replace: 'command.bypassDocumentValidation = false',
        tests: [
          instanceTest(
            'cluster/driver/driver-node-client.test.ts',
            'sends the statements unchanged, with majority and without validation',
          ),
        ],
      },
    ],
  },
  {
    number: 66,
    hazard: 'A find with `singleBatch` and without `batchSize` returns 101 documents, whatever its limit',
    handling: 'Convoy reads its state with a batch size, and continues behind the last document until it has all.',
    sabotages: [
      {
        takesOut: 'the batch size',
        file: instance('store/metadata.ts'),
        symbol: 'findSome',
        find: '        batchSize: wanted,\n',
        replace: '        singleBatch: true,\n',
        tests: [
          integrationTest(
            'store/metadata-pages.test.ts',
            'metadata documents are found up to the requested number; without a batch size, up to 101',
          ),
        ],
      },
    ],
  },
  {
    number: 71,
    hazard:
      'Deltas grow when they become pipelines: updates of 10 KB documents became a command of 61 MB. A document ' +
      'beside a large key fits into no statement',
    handling:
      'Commands are bounded by the bytes of their statements, which are built one after the other. What fits into no ' +
      'statement is re-read, and inserted once the old document is removed.',
    sabotages: [
      {
        takesOut: 'the bound of commands in bytes of statements',
        file: instance('apply/send-batch.ts'),
        symbol: 'sendBulk',
        find: '({ statement }) => statement.length, bulkBytesMax)',
        replace: '({ statement }) => 0 * statement.length, bulkBytesMax)',
        tests: [
          instanceTest(
            'apply/write-batch-limits.test.ts',
            'batches of updates that are many times larger than their events are within the limits of servers',
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
            'apply/write-batch-limits.test.ts',
            'a statement larger than a command is not sent, its document is re-read',
          ),
        ],
      },
      {
        takesOut: 'the bound of an upsert',
        file: instance('store/fenced-writer.ts'),
        symbol: 'rereadOfUpsert',
        find: 'if (statement.length > statementBytesMax)',
        replace: 'if (statement.length > 4 * statementBytesMax)',
        tests: [
          instanceTest(
            'copy/copy-partition-limits.test.ts',
            'a document that fits into no statement beside its key is re-read',
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
            'is inserted, after a delete, when it fits into no statement beside its key',
          ),
        ],
      },
    ],
  },
  {
    number: 79,
    hazard:
      'A find for one batch ends with the batch: beyond 10,000 copies the rest counts as not copied, is never ' +
      'verified, and blocks the commit',
    handling: 'All reads of state go by pages until there are no more.',
    sabotages: [
      {
        takesOut: 'the pages after the first',
        file: instance('store/metadata.ts'),
        symbol: 'findNames',
        find: 'filter, Infinity, signal,',
        replace: 'filter, 1, signal,',
        tests: [
          instanceTest('store/metadata.test.ts', 'has the names of all copies, even when they need several replies'),
        ],
      },
    ],
  },
  {
    number: 80,
    hazard:
      'Servers refuse an insert of a document above 16 MB with BadValue (2), which has other causes too: the failure ' +
      'has no helpful name',
    handling:
      '`NodeClient` knows the bytes of what it sent. It reports such an insert as BSONObjectTooLarge, as updates do, ' +
      'and the migration fails with `documentTooLarge`.',
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
