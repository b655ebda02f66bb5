import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { WorkerOrder } from './cluster/worker-order.js';
import { ServerVersion } from './node/server-version.js';

/**
 * Runs a simulated cluster as a process of its own. Prints one JSON line when it is ready and ends on
 * SIGTERM, SIGINT, or with `--watch-stdin` when the pipe to its parent closes.
 *
 * The cluster runs in a worker, because only a worker can ask for a larger young generation by itself.
 */
const { values } = parseArgs({
  options: {
    shards: { type: 'string', default: '2' },
    routers: { type: 'string', default: '1' },
    port: { type: 'string', default: '0' },
    version: { type: 'string', default: '5.0' },
    'oplog-bytes': { type: 'string' },
    'snapshot-window-seconds': { type: 'string' },
    'memory-mb': { type: 'string', default: '4096' },
    'replica-set': { type: 'boolean', default: false },
    'watch-stdin': { type: 'boolean', default: false },
  },
});

/** Documents of a batch live as long as a few batches: with V8's default of 16 MB they are copied to the old generation, which halves the throughput. */
const youngGenerationMb = 192;

const order: WorkerOrder = {
  kind: values['replica-set'] ? 'replicaSet' : 'cluster',
  shards: Number(values.shards),
  routers: Number(values.routers),
  port: Number(values.port),
  version: ServerVersion.parse(values.version).series,
  limits: {
    ...(values['oplog-bytes'] === undefined ? {} : { oplogBytesMax: Number(values['oplog-bytes']) }),
    ...(values['snapshot-window-seconds'] === undefined ? {} : { snapshotWindowSeconds: Number(values['snapshot-window-seconds']) }),
  },
};

const worker = new Worker(new URL('./cluster/cluster-worker.js', import.meta.url), {
  workerData: order,
  resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb, maxOldGenerationSizeMb: Number(values['memory-mb']) },
});
worker.on('message', (ready: unknown) => process.stdout.write(`${JSON.stringify(ready)}\n`));
worker.on('error', (error) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
worker.on('exit', (code) => process.exit(process.exitCode ?? code));

function stop(): void {
  worker.postMessage('stop');
}

process.on('SIGTERM', stop);
process.on('SIGINT', stop);
if (values['watch-stdin']) {
  process.stdin.on('close', stop);
  process.stdin.resume();
}
