import type { LoadOrder } from './load-order.js';
import { runLoad } from './load.js';

/**
 * Runs one order in its own process, so that its CPU time is only the client's: `node load-process.js ORDER`. Prints a
 * `LoadReport` as its last line and waits for SIGTERM.
 */
const order = JSON.parse(process.argv[2] ?? '') as LoadOrder;
const report = await runLoad(order);
console.log(JSON.stringify(report));
setInterval(() => undefined, 60_000);
