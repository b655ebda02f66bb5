import { privileges } from './access/privileges.js';
import { writeBlocks } from './access/write-blocks.js';
import { catalogs, shardKeyIndexes } from './definitions/catalogs.js';
import { ddlEvents } from './definitions/ddl-event.js';
import { timeSeries } from './definitions/time-series.js';
import type { Probe } from './framework/probe.js';
import { orderAndBounds } from './reads/order-and-bounds.js';
import { readsAtATime } from './reads/reads-at-a-time.js';
import { readsByUuid } from './reads/reads-by-uuid.js';
import { recordOrder } from './reads/record-order.js';
import { numberedWrites } from './sessions/numbered-writes.js';
import { transactions } from './sessions/transactions.js';
import { documentEvents } from './streams/document-events.js';
import { streamPositions } from './streams/stream-positions.js';
import { clusterTimes } from './times/cluster-times.js';
import { clusters } from './topology/clusters.js';
import { bulkWrites } from './writes/bulk-writes.js';
import { exactDocuments } from './writes/exact-documents.js';

/** Probes by topic, in the order in which they run and are printed. */
export const probesByTopic: Readonly<Record<string, readonly Probe[]>> = {
  Clusters: clusters,
  'Cluster times': clusterTimes,
  'Reads at one time': readsAtATime,
  'Reads by UUID': readsByUuid,
  'Order and bounds': orderAndBounds,
  'Record order': recordOrder,
  'Events of documents': documentEvents,
  'Positions of streams': streamPositions,
  'DDL events': ddlEvents,
  Definitions: [...catalogs, ...shardKeyIndexes],
  'Time series': timeSeries,
  'Bulk writes': bulkWrites,
  'Exact documents': exactDocuments,
  'Numbered writes': numberedWrites,
  Transactions: transactions,
  Privileges: privileges,
  'Write blocks': writeBlocks,
};

/** All of them. */
export const allProbes: readonly Probe[] = Object.values(probesByTopic).flat();
