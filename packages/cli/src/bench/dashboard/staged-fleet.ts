import { randomUUID } from 'node:crypto';
import { idleProgress } from '@convoy/api/contract/progress';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import type { InstanceStats } from '@convoy/api/fleet/instance-stats';
import type { NamespacePart } from '@convoy/api/fleet/published-details';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { RedisFleet } from '@convoy/coordinator/fleet/redis-fleet';
import { createLogger } from '@convoy/instance/logging/logger';
import { CoordinatorProcess } from '../../environment/fleet/coordinator-process.js';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';

const report_ms = 250;
const publish_ms = 2_000;
const mebibyte = 1024 * 1024;
/** Age of the staged migration: six hours. */
const started_ms = Date.now() - 6 * 3_600_000;
const logger = createLogger({ verbosity: 'FATAL' });

/**
 * Instances in this process that report a copy without syncing, and a coordinator process that serves their dashboard.
 */
export class StagedFleet implements AsyncDisposable {
  readonly #timers: NodeJS.Timeout[] = [];
  #step = 0;

  private constructor(
    readonly coordinator: CoordinatorProcess,
    private readonly members: readonly RedisFleet[],
    private readonly namespaces: number,
  ) {
    this.#timers.push(
      setInterval(() => this.#report(), report_ms),
      setInterval(() => this.#publish(), publish_ms),
    );
    this.#report();
    this.#publish();
  }

  static async start(
    redis: string,
    instances: number,
    namespaces: number,
    folder: ScratchFolder,
  ): Promise<StagedFleet> {
    const name = `bench-${instances}-${namespaces}-${process.pid}`;
    const coordinator = await CoordinatorProcess.start({ redis, fleet: name }, folder);
    const members = Array.from(
      { length: instances },
      () => new RedisFleet({ redis: parseRedisSettings(redis), fleet: name, logger }),
    );
    await Promise.all(members.map((fleet, at) => fleet.join(identityOf(at))));
    for (const fleet of members) fleet.serve(() => Promise.resolve({ success: true }));
    return new StagedFleet(coordinator, members, namespaces);
  }

  #report(): void {
    this.#step += 1;
    for (const [at, fleet] of this.members.entries()) fleet.report(reportOf(at, this.members.length, this.#step));
  }

  #publish(): void {
    const others = { collections: 0, totalBytes: 0, copiedBytes: 0, copiedDocuments: 0 };
    const rows = Array.from({ length: this.namespaces }, (_, at) => partOf(at, this.#step));
    for (const fleet of this.members) fleet.publishDetails('namespaces', { rows, others });
    const [first] = this.members;
    const points = Array.from({ length: 720 }, (_, at) => ({
      at_ms: started_ms + at * 30_000,
      copiedBytes: at * mebibyte * 500,
      totalBytes: 720 * mebibyte * 500,
      copiedDocuments: at * 40_000,
      eventsApplied: at * 9_000 + (at % 7) * 300,
      lagSeconds: at % 23,
    }));
    const timeline = Array.from({ length: 400 }, (_, at) => ({
      at_ms: started_ms + at * 50_000,
      kind: 'phase' as const,
      level: 'info' as const,
      text: `Entry ${at} of the timeline.`,
    }));
    first?.publishDetails('history', { interval_ms: 30_000, points, timeline, entriesDropped: 0 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all(this.members.map((fleet) => fleet.leave()));
    await this.coordinator[Symbol.asyncDispose]();
  }
}

function identityOf(at: number): InstanceReport['identity'] {
  return { id: `shard${at}`, syncID: `shard${at}`, incarnation: randomUUID(), release: '2.0.0' };
}

const identities = new Map<number, InstanceReport['identity']>();

function reportOf(at: number, instances: number, step: number): InstanceReport {
  const identity = identities.get(at) ?? identityOf(at);
  identities.set(at, identity);
  const estimatedTotalBytes = instances * 400_000 * mebibyte;
  const progress = {
    ...idleProgress(),
    state: 'RUNNING' as const,
    canWrite: false,
    info: 'collection copy',
    lagTimeSeconds: (step + at) % 12,
    totalEventsApplied: step * 260 + at,
    collectionCopy: { estimatedTotalBytes, estimatedCopiedBytes: step * 12 * mebibyte + at },
    directionMapping: { Source: 'cluster0: source.example:27017', Destination: 'cluster1: destination.example:27017' },
    warnings: [],
  };
  const stats: InstanceStats = {
    sourceShards: [identity.id],
    destinationShards: Array.from({ length: instances }, (_, shard) => `shard${shard}`),
    copiedDocuments: step * 3_000 + at,
    partitions: { waiting: 40, starting: 0, copying: 4, done: step },
    bufferedEvents: step % 90,
    pendingRereads: step % 3,
    bufferedBytes: (step % 50) * mebibyte,
    bufferBytesMax: 128 * mebibyte,
  };
  const expectedIds = Array.from({ length: instances }, (_, shard) => `shard${shard}`);
  const rates = { copyBytesPerSecond: 48 * mebibyte + (step % 9) * 1_000, eventsPerSecond: 1_040 + (step % 7) };
  return idleReport(identity, { state: 'RUNNING', step: 'syncing', expectedIds, rates, progress, stats });
}

function partOf(at: number, step: number): NamespacePart {
  const isActive = at < 4;
  return {
    namespace: `database${at % 20}.collection_${at}`,
    totalBytes: (5_000 - at) * mebibyte,
    copiedBytes: isActive ? step * mebibyte : (5_000 - at) * mebibyte,
    copiedDocuments: isActive ? step * 800 : 40_000,
    partitions: { waiting: 0, starting: 0, copying: isActive ? 1 : 0, done: isActive ? step : 12 },
  };
}
