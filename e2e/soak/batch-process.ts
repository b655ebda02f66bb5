import type { Batch, Played } from './batch.js';
import { playHistory } from './play-history.js';

/** Failures deep in the engine show their callers. */
Error.stackTraceLimit = 40;

const { seed, histories, limit_ms, keepsGoing, path, ddlChanges, moves, toReplicaSet, timeSeries, verbose } =
  JSON.parse(process.argv[2] ?? '') as Batch;
const started_ms = performance.now();
for (let turn = 0; turn < histories && performance.now() - started_ms < limit_ms; turn += 1) {
  const choice = { seed: seed + turn, ddlChanges, moves, toReplicaSet, timeSeries, path };
  const stats = await playHistory(choice, { verbose, shrinks: !keepsGoing && !verbose && path === null });
  const played: Played = { seed: choice.seed, simulated_ms: stats?.simulated_ms ?? null };
  await new Promise<void>((resolve, reject) => {
    process.send?.(played, undefined, {}, (error) => (error === null ? resolve() : reject(error)));
  });
  if (stats === null && !keepsGoing) break;
}
// Instances of finished histories may wait for ever.
process.exit(0);
