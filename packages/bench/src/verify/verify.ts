import type { Benchmark, BenchmarkContext, Row } from '../benchmark.js';
import { BenchClusters, shards } from '../copy/bench-clusters.js';
import { type BenchCollection, benchNamespace } from '../copy/bench-documents.js';
import type { VerifyOrder, VerifyResult } from './verify-order.js';
import { mismatchRows, type VerifySize, verifySizeRows } from './verify-rows.js';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { runMeasured } from '../measured-process.js';

const processScript = new URL('./verify-process.js', import.meta.url);
const limit_ms = 600_000;

/** Concurrently compared ranges, as in `convoy verify`. */
const readers = 4;

let runs = 0;

/** Compares a collection in a separate process. */
async function runVerify(
  { source, destination }: BenchClusters,
  folder: ScratchFolder,
  collection: BenchCollection,
  use: VerifyOrder['use'],
): Promise<VerifyResult> {
  runs += 1;
  const order: VerifyOrder = {
    source: source.connectionString,
    destination: destination.connectionString,
    use,
    collection,
    readers,
    stateFolder: folder.file(`verify-${runs}`),
  };
  return runMeasured({ name: use, script: processScript, order, limit_ms, logFile: folder.file('verify.log') });
}

/** Document sizes and their bytes on each side: some seconds of the bare loop. */
const sizes = [
  { name: '1 kB', documentBytes: 1_000, bytes: 200_000_000 },
  { name: '10 kB', documentBytes: 10_000, bytes: 240_000_000 },
] as const;

/** Both alternate, so that other load on the host affects both. */
const rounds = 3;

/** Numbers of differing documents in the collection. */
const mismatchCounts = [50_000, 100_000, 200_000] as const;
const mismatchDocuments = 200_000;
const mismatchDocumentBytes = 300;

/** Speed of the verifier, compared with a minimal loop, and its memory with many mismatches. */
export const verifyBenchmark: Benchmark = {
  name: 'verify',
  description:
    `documents of ${sizes.map(({ name }) => name).join(', ')} on ${shards} shards: ` +
    `the verifier compared with a bare loop; memory with ${mismatchCounts.join(', ')} mismatches`,
  async run(context) {
    await using clusters = await BenchClusters.start(context.folder);
    const rows: Row[] = [];
    for (const { name, documentBytes, bytes } of sizes) {
      const documents = Math.max(1_000, Math.round((bytes * context.scale) / documentBytes));
      const collection: BenchCollection = { ...benchNamespace, documentBytes, documents };
      context.log(`${name}: loading ${documents} documents on both sides`);
      await load(clusters, collection);
      rows.push(
        ...verifySizeRows({
          name,
          documents,
          bytes: documents * documentBytes,
          ...(await takeTurns(clusters, collection, name, context)),
        }),
      );
      await clusters.empty();
    }
    return [...rows, ...mismatchRows(await withMismatches(clusters, context))];
  },
};

async function load(clusters: BenchClusters, collection: BenchCollection): Promise<void> {
  await clusters.load('source', collection);
  await clusters.load('destination', collection);
}

async function takeTurns(
  clusters: BenchClusters,
  collection: BenchCollection,
  name: string,
  { folder, log, signal }: BenchmarkContext,
): Promise<Pick<VerifySize, 'loop' | 'verifier'>> {
  const loop: VerifyResult[] = [];
  const verifier: VerifyResult[] = [];
  const turns = [
    async () => loop.push(await runVerify(clusters, folder, collection, 'loop')),
    async () => verifier.push(await runVerify(clusters, folder, collection, 'verifier')),
  ];
  for (let round = 0; round < rounds; round += 1) {
    log(`${name}: round ${round + 1} of ${rounds}`);
    for (const index of turns.keys()) {
      signal.throwIfAborted();
      await turns[(index + round) % turns.length]?.();
    }
  }
  for (const { mismatches } of [...loop, ...verifier])
    if (mismatches > 0) throw new Error(`The verifier reported ${mismatches} equal documents as different.`);
  return { loop, verifier };
}

async function withMismatches(
  clusters: BenchClusters,
  { folder, log, scale, signal }: BenchmarkContext,
): Promise<VerifyResult[]> {
  const collection: BenchCollection = {
    ...benchNamespace,
    documentBytes: mismatchDocumentBytes,
    documents: Math.round(mismatchDocuments * scale),
  };
  await load(clusters, collection);
  const results: VerifyResult[] = [];
  const documents = clusters.destinationClient
    .db(collection.database)
    .collection<{ _id: number }>(collection.collection);
  for (const count of mismatchCounts) {
    signal.throwIfAborted();
    const wrong = Math.round(count * scale);
    log(`${wrong} mismatches of ${collection.documents} documents`);
    await documents.updateMany({ _id: { $lt: wrong } }, { $set: { group: -1 } });
    const result = await runVerify(clusters, folder, collection, 'verifier');
    if (result.mismatches !== wrong) throw new Error(`The verifier found ${result.mismatches} of ${wrong} mismatches.`);
    results.push(result);
  }
  return results;
}
