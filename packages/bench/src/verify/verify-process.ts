import { openCluster } from '@convoy/instance/cluster/open-cluster';
import { printResult } from '../own-usage.js';
import { readUsage } from '../process-usage.js';
import type { VerifyOrder, VerifyResult } from './verify-order.js';
import type { ClusterClient, RawBatch, RawCursor } from '@convoy/instance/cluster/node-client';
import { rangesOf } from '../copy/loop-order.js';
import { systemClock } from '@convoy/instance/async/clock';
import { compareClusters, type ComparisonPhase } from '@convoy/instance/verify/standalone/compare-clusters';
import { ComparisonState } from '@convoy/instance/verify/standalone/comparison-state';

/** Settings of `convoy verify`, but without waiting for a late destination. */
const options = { rule: { settle_ms: 0, looksMin: 3 }, generationsMax: 10, record_ms: 2_000, shardKeys: true };

/**
 * The whole comparison of two clusters, from reading the catalogs to the last repeated comparison, with its state on
 * disk.
 * @param entered called at the start of each phase
 * @returns number of documents proven different
 */
async function verifierComparison(
  source: ClusterClient,
  destination: ClusterClient,
  { collection, readers, stateFolder }: VerifyOrder,
  entered: (phase: ComparisonPhase) => void,
): Promise<number> {
  await using state = await ComparisonState.open(stateFolder);
  const context = {
    source,
    destination,
    state,
    options: { ...options, readers },
    clock: systemClock,
    retrying: <T>(_what: string, operation: () => Promise<T>) => operation(),
    entered,
    signal: new AbortController().signal,
  };
  const includeNamespaces = [{ database: collection.database, collections: [collection.collection] }];
  const { totals } = await compareClusters(context, { includeNamespaces, excludeNamespaces: [] });
  if (totals.sourceDocuments !== collection.documents)
    throw new Error(`The verifier compared ${totals.sourceDocuments} of ${collection.documents} documents.`);
  return totals.mismatches;
}

/** Documents per batch: about 1 MB, as in the verifier. */
const batchBytes = 2 ** 20;

/**
 * The minimal comparison: reads both sides in `_id` order, several ranges at once, prefetching the next batches while
 * it compares bytes. It has no state and does not analyse differences.
 * @returns number of documents that differ at the same position
 */
async function bareComparison(source: ClusterClient, destination: ClusterClient, order: VerifyOrder): Promise<number> {
  const ranges = rangesOf(order.collection.documents, order.readers);
  const counts = await Promise.all(ranges.map((range) => compareRange(source, destination, range, order)));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function compareRange(
  source: ClusterClient,
  destination: ClusterClient,
  [min, max]: [number, number],
  { collection }: VerifyOrder,
): Promise<number> {
  const { signal } = new AbortController();
  const batchSize = Math.max(1, Math.floor(batchBytes / collection.documentBytes));
  const command = {
    find: collection.collection,
    hint: { _id: 1 },
    sort: { _id: 1 },
    min: { _id: min },
    max: { _id: max },
    batchSize,
    readConcern: { level: 'majority' },
  };
  const cursors = await Promise.all(
    [source, destination].map(({ router }) => router.openCursor(collection.database, command, { signal })),
  );
  const next = () => Promise.all(cursors.map((cursor) => nextOf(cursor, signal)));
  let batches = cursors.map(({ first }): RawBatch | null => first);
  let different = 0;
  while (batches.some((batch) => batch !== null)) {
    const ahead = next();
    different += compareBatches(batches);
    batches = await ahead;
  }
  return different;
}

async function nextOf(cursor: RawCursor, signal: AbortSignal): Promise<RawBatch | null> {
  return cursor.open ? cursor.next({ signal }) : null;
}

function compareBatches([here, there]: readonly (RawBatch | null)[]): number {
  const [a, b] = [here?.documents ?? [], there?.documents ?? []];
  let different = Math.abs(a.length - b.length);
  for (let position = 0; position < Math.min(a.length, b.length); position += 1) {
    if (Buffer.compare(a[position] ?? Buffer.alloc(0), b[position] ?? Buffer.alloc(0)) !== 0) different += 1;
  }
  return different;
}

/**
 * Runs one order in its own process: `node verify-process.js ORDER`. Its result is a `VerifyResult`.
 */
const order = JSON.parse(process.argv[2] ?? '') as VerifyOrder;
const { signal } = new AbortController();
const source = await openCluster('cluster0', order.source, { direct: false, signal });
const destination = await openCluster('cluster1', order.destination, { direct: false, signal });
/** Seconds and CPU seconds since the start of the process. */
const now = () => {
  const { user, system } = process.cpuUsage();
  return { seconds: performance.now() / 1000, cpu_seconds: (user + system) / 1e6 };
};
const begin = now();
let comparing = begin;
let compared: typeof begin | undefined;
const mismatches = await (order.use === 'loop'
  ? bareComparison(source, destination, order)
  : verifierComparison(source, destination, order, (phase) => {
      if (phase === 'comparing') comparing = now();
      if (phase === 'comparing definitions') compared = now();
    }));
const end = now();
compared ??= end;
const result: VerifyResult = {
  seconds: compared.seconds - comparing.seconds,
  cpu_seconds: compared.cpu_seconds - comparing.cpu_seconds,
  peakMemoryBytes: readUsage([process.pid]).peakMemoryBytes,
  mismatches,
  catalogs_seconds: comparing.seconds - begin.seconds + end.seconds - compared.seconds,
  catalogsCpu_seconds: comparing.cpu_seconds - begin.cpu_seconds + end.cpu_seconds - compared.cpu_seconds,
};
printResult(result);
