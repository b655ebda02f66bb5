/*
 * Loaded into an instance by `--import`: at the step that the order names, it kills its own process, or the others that
 * the order names (kill -9), before anything else is begun. An order is carried out once.
 */
import { subscribe } from 'node:diagnostics_channel';
import { readFileSync, renameSync } from 'node:fs';

const orderFile = process.env.CONVOY_CRASH_ORDER;

subscribe('convoy:step', ({ step }) => {
  const order = readOrder();
  if (order?.step !== step) return;
  renameSync(orderFile, `${orderFile}.done`);
  const victims = order.others === null ? [process.pid] : order.others.filter((pid) => pid !== process.pid);
  for (const pid of victims) process.kill(pid, 'SIGKILL');
});

function readOrder() {
  try {
    return JSON.parse(readFileSync(orderFile, 'utf8'));
  } catch {
    return null;
  }
}
