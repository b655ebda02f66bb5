#!/usr/bin/env node
import './required-node.js';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import type { FaultAnswer, ReadyMessage } from './process/worker-order.js';
import { type Arguments, parseArguments, UsageError, usage } from './process/arguments.js';
import { readyText, startFailure } from './process/messages.js';

/** Exit code for a command line that cannot run. */
const usageExitCode = 2;
/**
 * Documents of a batch live as long as a few batches. V8's default of 16 MB copies them to the old generation, which
 * halves the throughput.
 */
const youngGenerationMb = 192;

try {
  const wanted = parseArguments(process.argv.slice(2));
  if (wanted.help) process.stdout.write(usage);
  else run(wanted);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message} --help lists the options.\n`);
  process.exitCode = usageExitCode;
}

/**
 * Runs a simulated cluster as a process of its own. Prints one JSON line, or a text at a terminal, once it is ready.
 * Ends on SIGTERM, SIGINT, or with `--watch-stdin` when the pipe to its parent closes. Each line from that pipe orders
 * a fault, e.g. `{"stop":"shard0"}`. One line answers it: `{"done":…}` or `{"failed":…,"message":"…"}`.
 *
 * The cluster runs in a worker, because only a worker can request a larger young generation by itself.
 */
function run({ order, memoryMb, json, watchStdin }: Arguments): void {
  const worker = new Worker(new URL('./process/cluster-worker.js', import.meta.url), {
    workerData: order,
    resourceLimits: { maxYoungGenerationSizeMb: youngGenerationMb, maxOldGenerationSizeMb: memoryMb },
  });
  worker.on('message', (message: ReadyMessage | FaultAnswer) => {
    if ('answer' in message) {
      process.stdout.write(`${message.answer}\n`);
      return;
    }
    const ready = message;
    process.stdout.write(json || !process.stdout.isTTY ? `${JSON.stringify(ready)}\n` : readyText(ready, order));
  });
  worker.on('error', (error) => {
    process.stderr.write(`${startFailure(error)}\n`);
    process.exitCode = 1;
  });
  worker.on('exit', (code) => process.exit(process.exitCode ?? code));
  const stop = (): void => worker.postMessage('stop');
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  if (watchStdin) {
    const orders = createInterface({ input: process.stdin });
    orders.on('line', (faultLine) => worker.postMessage({ faultLine }));
    orders.on('close', stop);
  }
}
