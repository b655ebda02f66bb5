import type { LoadOrder } from './load-order.js';
import { runLoad } from './load.js';

/**
 * Carries out one order as a process of its own, so that its CPU time is the client's alone: `node load-process.js ORDER`.
 * Prints a `LoadReport` as its last line and waits for SIGTERM.
 */
const order = JSON.parse(process.argv[2] ?? '') as LoadOrder;
const report = await runLoad(order);
console.log(JSON.stringify(report));
setInterval(() => undefined, 60_000);
