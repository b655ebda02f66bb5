import type { Document } from 'mongodb';
import {
  accepted,
  acceptedCode,
  allButLast,
  anyUuid,
  atATime,
  batch,
  cursor,
  type Distortion,
  each,
  eventsWith,
  fields,
  isFind,
  longAgo,
  none,
  on,
  oneUuid,
  reversed,
  uuids,
  where,
} from './distortion.js';

const bounded = where(
  (command) => command['min'] !== undefined,
  batch((documents) => [...documents, { place: -1 }]),
);
const continued = (command: Document): boolean => command['$_resumeAfter'] !== undefined;
const findAccepted = on('find', accepted);

/** Servers that read, sort and timestamp differently. */
export const readingDistortions: Readonly<Record<string, Distortion>> = {
  'kind-is-shown': on('hello', fields({ msg: undefined })),
  'cluster-has-an-id': where((command) => command['find'] === 'version', none),
  'shards-are-listed': on('listShards', fields({ shards: [{ _id: 'shard0' }] })),
  'databases-have-a-primary': where((command) => command['find'] === 'databases', none),
  'balancer-reports-its-state': on('balancerStatus', fields({ mode: undefined })),
  'condition-has-one-winner': on('update', fields({ n: 1 })),

  'writes-have-rising-times': on('insert', fields({ operationTime: longAgo })),
  'events-bear-the-time-of-their-write': eventsWith({ clusterTime: longAgo }),
  'notes-lie-above-all': on('appendOplogNote', fields({ operationTime: longAgo })),
  'routers-and-notes': on('appendOplogNote', accepted),
  'reading-after-a-time-moves-idle-shards': where(
    (command, node) => command['ping'] === 1 && node === 'shard1',
    fields({ operationTime: longAgo }),
  ),

  'find-at-a-time': where(atATime, allButLast),
  'aggregate-at-a-time': where(atATime, none),
  'cursor-keeps-its-time': on('getMore', each({ v: 'new' })),
  'read-states-its-time': where(atATime, cursor({ atClusterTime: undefined })),
  'shard-states-no-time-for-absent': where(atATime, cursor({ atClusterTime: longAgo })),
  'router-states-time-for-absent': where(atATime, cursor({ atClusterTime: undefined })),
  'time-too-old-is-refused': findAccepted,
  'time-to-come-is-refused': findAccepted,
  'capped-at-a-time': findAccepted,
  'rename-ends-older-times': where(atATime, accepted),
  'rename-ends-cursors': on('getMore', accepted),
  'drop-ends-cursors': on('getMore', accepted),
  'old-name-shows-older-times': on(
    'find',
    batch(() => [{ _id: 3 }]),
  ),
  'own-writes-at-majority': on('find', none),

  'find-by-uuid': on('find', allButLast),
  'unknown-uuid-is-not-found': findAccepted,
  'rename-keeps-uuid': uuids(anyUuid),
  'made-again-has-new-uuid': uuids(() => oneUuid),
  'shards-share-the-uuid': uuids(anyUuid),
  'wrong-uuid-of-a-read-is-refused': acceptedCode(361),
  'wrong-uuid-is-refused': acceptedCode(361),

  'order-of-all-types': on('find', reversed),
  'bounds-go-over-types': bounded,
  'bounds-leave-max-key-out': bounded,
  'equal-numbers-are-one-id': acceptedCode(11_000),
  'collation-makes-ids-equal': acceptedCode(11_000),
  'capped-order': on('find', reversed),
  'hashes-of-shard-keys': where((command) => command['min'] !== undefined, none),
  'single-batch-has-101': where(
    isFind,
    batch((documents) => documents.slice(0, 100)),
  ),

  'scan-continues-after-a-position': where(continued, none),
  'position-needs-its-record': where(continued, accepted),
};
