import { setTimeout as delay } from 'node:timers/promises';
import { type Progress, progressInfo } from '@convoy/api/contract/progress';
import { startFleet } from '../../environment/fleet/start-fleet.js';
import type { BenchmarkContext } from '../benchmark.js';
import { readUsage } from '../process-usage.js';
import type { BenchClusters } from './bench-clusters.js';
import type { EngineResult } from './copy-result.js';

/** Polling interval near the start and the end: exact enough for a copy of some seconds. */
const poll_ms = 50;
/** Interval in between: a reply costs an instance a millisecond, which would count for the copy. */
const idlePoll_ms = 400;
/** The end is near from this part of the bytes on. */
const nearlyAll = 0.8;
const limit_ms = 600_000;

interface Moment {
  at_ms: number;
  cpu_seconds: number;
}

/**
 * Copies the whole source into an empty destination with a new fleet, from the start request to the end of the copy.
 */
export async function runEngine(clusters: BenchClusters, { folder, signal }: BenchmarkContext): Promise<EngineResult> {
  await clusters.emptyDestination();
  const { source, destination } = clusters;
  await using fleet = await startFleet({ source, destination, folder });
  const pids = fleet.instances.map(({ pid }) => pid);
  const now = (): Moment => ({ at_ms: performance.now(), cpu_seconds: readUsage(pids).cpu_seconds });
  const asked = now();
  await fleet.coordinator.client.start({
    source: 'cluster0',
    destination: 'cluster1',
    verification: { enabled: false },
  });
  let started: Moment | undefined;
  for (;;) {
    const seen = await Promise.all(
      fleet.instances.map(async ({ client }) => (await client.progress({ signal })).progress),
    );
    const infos = seen.map(({ info }) => info);
    if (infos.some((info) => info === progressInfo.collectionCopy)) started ??= now();
    if (infos.every((info) => info === progressInfo.changeEventApplication)) break;
    if (performance.now() - asked.at_ms > limit_ms)
      throw new Error(`The copy was not done within ${limit_ms / 1000} s.`);
    await delay(isFarFromEnd(seen) ? idlePoll_ms : poll_ms, undefined, { signal });
  }
  const done = now();
  started ??= done;
  return {
    seconds: (done.at_ms - started.at_ms) / 1000,
    cpu_seconds: done.cpu_seconds - started.cpu_seconds,
    peakMemoryBytes: readUsage(pids).peakMemoryBytes,
    initialisation_seconds: (started.at_ms - asked.at_ms) / 1000,
    initialisationCpu_seconds: started.cpu_seconds - asked.cpu_seconds,
  };
}

/** True when the copy has started and most bytes of all instances remain. */
function isFarFromEnd(seen: readonly Progress[]): boolean {
  return seen.every(({ info }) => info === progressInfo.collectionCopy) && copiedFraction(seen) < nearlyAll;
}

/** The copied part of all bytes, 0 to 1; each instance reports its own part and the common total. */
export function copiedFraction(seen: readonly Progress[]): number {
  const copied = seen.reduce((bytes, { collectionCopy }) => bytes + (collectionCopy?.estimatedCopiedBytes ?? 0), 0);
  return copied / Math.max(1, ...seen.map(({ collectionCopy }) => collectionCopy?.estimatedTotalBytes ?? 0));
}
