import { printResult } from '../own-usage.js';
import type { LoadOrder } from './load-order.js';
import { runLoad } from './load.js';

/**
 * Runs one order in its own process, so that its CPU time is only the client's: `node load-process.js ORDER`. Its
 * result is a `LoadReport`.
 */
const order = JSON.parse(process.argv[2] ?? '') as LoadOrder;
printResult(await runLoad(order));
