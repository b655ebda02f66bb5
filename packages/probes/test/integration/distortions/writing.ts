import { Timestamp } from 'mongodb';
import {
  accepted,
  acceptedCode,
  allButLast,
  batch,
  type Distortion,
  each,
  events,
  fields,
  none,
  on,
  refused,
  where,
} from './distortion.js';

const aborted = where((command) => command['find'] !== undefined && command['txnNumber'] === undefined, none);
const turnedFields = on(
  'find',
  batch((documents) => documents.map((document) => Object.fromEntries(Object.entries(document).reverse()))),
);
const isBlocked = acceptedCode(371);
/** The privileges of a user who may do everything. */
const unlimited = acceptedCode(13);
const isSecond = (command: Record<string, unknown>): boolean =>
  (command['documents'] as { _id?: unknown }[] | undefined)?.[0]?._id === 2;

/** Servers that write, count and authorise differently. */
export const writingDistortions: Readonly<Record<string, Distortion>> = {
  'buckets-in-streams': events(() => []),
  'series-in-streams': events(() => []),
  'buckets-at-a-time': where((command) => command['min'] !== undefined, allButLast),
  'buckets-are-written': where((command) => String(command['insert']).startsWith('system.buckets.'), refused(166)),
  'foreign-buckets-take-measurements': on('validate', fields({ valid: false })),
  'series-definitions': on('listIndexes', none),
  'sharded-buckets': where((command) => command['update'] !== undefined, refused(61)),
  'unordered-goes-on': on('find', allButLast),
  'ordered-stops': on(
    'find',
    batch((documents) => [...documents, { _id: 3 }]),
  ),
  'unordered-over-shards': on('insert', (reply) =>
    reply['writeErrors'] === undefined
      ? reply
      : {
          ...reply,
          writeErrors: [
            { index: 0, code: 11_000 },
            { index: 1, code: 11_000 },
          ],
        },
  ),
  'duplicate-names-its-index': on('insert', (reply) => ({
    ...reply,
    writeErrors: (reply['writeErrors'] as object[] | undefined)?.map((error) => ({ ...error, keyPattern: { _id: 1 } })),
  })),
  'update-counts': on('update', fields({ n: 4 })),
  'delete-counts': on('delete', fields({ n: 2 })),
  'validation-is-bypassed': where((command) => command['bypassDocumentValidation'] === true, refused(121)),
  'largest-document': where(isSecond, accepted),
  'largest-document-with-its-key': acceptedCode(10_334),
  'limits-are-reported': on('hello', fields({ maxWriteBatchSize: 1_000 })),

  'insert-keeps-fields': turnedFields,
  'upsert-keeps-fields': turnedFields,
  'insert-replaces-zero-timestamps': on('find', each({ t: new Timestamp(0n) })),
  'bypass-keeps-zero-timestamps': on('find', each({ t: new Timestamp(5n) })),
  'stage-adds-in-order': turnedFields,
  'operator-adds-by-name': turnedFields,
  'set-again-in-one-pipeline': on(
    'find',
    batch((documents) => documents.map(({ _id, a, b }) => ({ _id: _id as unknown, a: a as unknown, b: b as unknown }))),
  ),
  'new-document-keeps-no-places': turnedFields,
  'unset-of-what-is-not-there': on('update', fields({ nModified: 1 })),
  'set-field-takes-any-name': on('find', each({ a: { b: 3 } })),
  'full-key-reaches-one-shard': where((command) => command['update'] !== undefined, refused(61)),
  'wrong-key-matches-nothing': on('delete', fields({ n: 1 })),
  'id-is-unique-per-shard': acceptedCode(11_000),
  'max-key-in-shard-key-is-refused': on('insert', accepted),

  'repeated-number-takes-effect-once': on('find', each({ n: 2 })),
  'repeated-duplicates-are-reported-again': where((command) => command['txnNumber'] !== undefined, accepted),
  'lower-number-is-refused': acceptedCode(225),
  'lower-number-is-refused-on-each-shard': acceptedCode(225),
  'one-write-fences-all-shards': acceptedCode(225),
  'fence-is-of-its-session': where((command) => String(command['txnNumber']) === String(2 ** 32), refused(225)),
  'fence-outlives-a-refresh': acceptedCode(225),
  'numbers-have-64-bits': acceptedCode(225),
  'lost-record-is-reported': acceptedCode(217),
  'numbered-delete-of-many-is-refused': acceptedCode(72),

  'transaction-is-all-or-nothing': aborted,
  'transaction-over-shards': on('find', allButLast),
  'unknown-transaction': on('find', (reply) => ({ ...reply, errorLabels: [] })),
  'conflict-is-transient': acceptedCode(112),
  'open-transactions-are-listed': on('aggregate', none),
  'collection-of-a-transaction': on(
    'listCollections',
    batch(() => [{ info: { uuid: 1 } }]),
  ),

  'use-uuid-is-needed': unlimited,
  'backup-may-append-notes': unlimited,
  'streams-need-their-actions': unlimited,
  'status-shows-privileges': on('connectionStatus', fields({ authInfo: { authenticatedUserPrivileges: [] } })),
  'users-of-the-cluster-are-not-of-its-shards': acceptedCode(18),
  'direct-reads-need-their-role': unlimited,

  'block-refuses-writes': isBlocked,
  'block-refuses-definitions': isBlocked,
  'block-may-be-repeated': where(
    (command) => command['setUserWriteBlockMode'] === 1 && command['global'] === false,
    refused(8),
  ),
  'block-lets-reads-through': on('find', refused(371)),
  'block-is-stored': where((command) => command['find'] === 'user_writes_critical_sections', none),
  'block-lets-the-privileged-through': where((command) => isSecond(command), refused(371)),
};
