import { measureOwn, printResult } from '../own-usage.js';
import type { LoopOrder } from './loop-order.js';
import { openRawLoop } from './raw-loop.js';

/** Runs one order in its own process: `node loop-process.js ORDER`. Its result is a `RunUsage`. */
const order = JSON.parse(process.argv[2] ?? '') as LoopOrder;
const copy = await openRawLoop(order);
printResult(
  await measureOwn(async () => {
    const copied = await copy();
    if (copied !== order.collection.documents)
      throw new Error(`The loop copied ${copied} of ${order.collection.documents} documents.`);
  }),
);
