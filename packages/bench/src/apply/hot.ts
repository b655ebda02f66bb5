import { type Benchmark, type Row, rowMaker } from '../benchmark.js';
import { BenchClusters, shards } from '../copy/bench-clusters.js';
import { benchNamespace } from '../copy/bench-documents.js';
import { applyWith, checkpoint_ms } from '../peer/apply-part.js';
import { notVerified } from '../peer/convoy-tool.js';
import type { ApplyWorkload } from './apply-workload.js';
import type { BatchForm } from './ready-batches.js';

type Case = Pick<ApplyWorkload, 'hotFraction' | 'hotChange'> & { name: string };

const cases: readonly Case[] = [
  { name: 'no hot document', hotFraction: 0 },
  { name: 'half on one counter', hotFraction: 0.5 },
  { name: 'all on one counter', hotFraction: 1 },
  { name: 'half on one nested counter', hotFraction: 0.5, hotChange: 'nested' },
  { name: 'half on one field set and removed', hotFraction: 0.5, hotChange: 'present' },
];

/** So many that the fleet's resumption hardly counts. */
const operations = 40_000;
/** Ordered: a hot document is in a command many times. */
const hotForm: BatchForm = { workers: 4, operationsMax: 1_000, order: 'ordered' };

/** Speed of applying events of which many change one document. */
export const hotBenchmark: Benchmark = {
  name: 'hot',
  description: `${operations} recorded updates of which many change one document, ${shards} → ${shards} shards`,
  async run(context) {
    await using clusters = await BenchClusters.start(context.folder);
    const rows: Row[] = [];
    for (const { name, ...hot } of cases) {
      context.signal.throwIfAborted();
      context.log(name);
      const scaled = Math.max(200, Math.round(operations * context.scale));
      const workload: ApplyWorkload = {
        ...benchNamespace,
        documentBytes: 300,
        documents: Math.ceil(scaled / 4),
        operations: scaled,
        mix: { insert: 0, update: 1, replace: 0, delete: 0 },
        hotDocuments: 1,
        ...hot,
      };
      const tool = notVerified({ checkpoint_ms });
      const { seconds, cpu_seconds } = await applyWith(tool, clusters, workload, hotForm, context);
      const row = rowMaker(name);
      rows.push(
        row('events', scaled / seconds, '1/s'),
        row('CPU per million events', (cpu_seconds / scaled) * 1e6, 's'),
      );
    }
    return rows;
  },
};
