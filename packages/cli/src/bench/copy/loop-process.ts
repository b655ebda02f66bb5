import { readUsage } from '../process-usage.js';
import type { CopyResult } from './copy-result.js';
import { openDecodingLoop } from './decoding-loop.js';
import type { LoopOrder } from './loop-order.js';
import { openRawLoop } from './raw-loop.js';

/**
 * Runs one order in its own process: `node loop-process.js ORDER`. Prints a `CopyResult` as its last line and waits for
 * SIGTERM.
 */
const order = JSON.parse(process.argv[2] ?? '') as LoopOrder;
const copy = await (order.use === 'raw' ? openRawLoop(order) : openDecodingLoop(order));
const cpuBefore = process.cpuUsage();
const begin = performance.now();
const copied = await copy();
const seconds = (performance.now() - begin) / 1000;
const cpu = process.cpuUsage(cpuBefore);
if (copied !== order.collection.documents)
  throw new Error(`The loop copied ${copied} of ${order.collection.documents} documents.`);
const result: CopyResult = {
  seconds,
  cpu_seconds: (cpu.user + cpu.system) / 1e6,
  peakMemoryBytes: readUsage([process.pid]).peakMemoryBytes,
};
console.log(JSON.stringify(result));
setInterval(() => undefined, 60_000);
