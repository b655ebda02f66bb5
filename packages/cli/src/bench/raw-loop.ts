import type { Door } from '@convoy/instance/cluster/door';
import { openCluster } from '@convoy/instance/cluster/open-cluster';
import { benchNamespace } from './bench-data.js';

/**
 * The least that a copy can do: reads each shard in order of `_id`, several ranges at once, and inserts what it read, as raw bytes
 * and through the same driver, with no state, no order between ranges and no regard for changes.
 * Run as a process of its own: `node raw-loop.js SOURCE DESTINATION DOCUMENTS`. Prints `copied SECONDS` and waits for SIGTERM.
 */
const rangesPerShard = 2;
const batchDocuments = 1_000;
/** Insert commands in flight for each range: one is written while the next is read. */
const writesInFlight = 2;

const [source = '', destination = '', count = ''] = process.argv.slice(2);
const signal = new AbortController().signal;

const from = await openCluster('cluster0', source, { direct: true, signal });
const to = await openCluster('cluster1', destination, { direct: false, signal });
console.log('raw loop ready');
const begin = performance.now();
const bounds = Array.from({ length: rangesPerShard + 1 }, (_, index) => Math.floor((Number(count) * index) / rangesPerShard));
const copied = await Promise.all(from.shardIds.flatMap((id) => bounds.slice(1).map((max, index) => copyRange(from.shard(id), to.router, bounds[index] ?? 0, max))));
const seconds = (performance.now() - begin) / 1000;
console.log(`copied ${copied.reduce((sum, documents) => sum + documents, 0)} documents in ${seconds} s`);
// The parent reads this process's CPU time and memory before it ends it.
setInterval(() => undefined, 60_000);

async function copyRange(shard: Door, router: Door, min: number, max: number): Promise<number> {
  const { database, collection } = benchNamespace;
  const range = { hint: { _id: 1 }, min: { _id: min }, max: { _id: max }, batchSize: batchDocuments };
  const cursor = await shard.openCursor(database, { find: collection, ...range }, { signal });
  const writes: Promise<unknown>[] = [];
  let documents = 0;
  for (let batch = cursor.first; ; batch = await cursor.next({ signal })) {
    documents += batch.documents.length;
    if (batch.documents.length > 0) writes.push(router.write({ database, collection, kind: 'insert', statements: batch.documents, ordered: false }, null, { signal }));
    if (writes.length >= writesInFlight) await writes.shift();
    if (!cursor.open) break;
  }
  await Promise.all(writes);
  return documents;
}
