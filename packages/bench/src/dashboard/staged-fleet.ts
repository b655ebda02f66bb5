import { randomUUID } from 'node:crypto';
import type { InstanceIdentity } from '@convoy/api/fleet/fleet';
import type { NamespacePart } from '@convoy/api/fleet/published-details';
import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { RedisFleet } from '@convoy/coordinator/fleet/redis-fleet';
import { createLogger } from '@convoy/instance/logging/logger';
import { CoordinatorProcess } from '@convoy/cli/environment/fleet/coordinator-process';
import { reportInterval_ms } from '@convoy/instance/lifecycle/instance/report';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { stagedReport } from '../staged-report.js';

const publish_ms = 2_000;
const mebibyte = 1024 * 1024;
/** Age of the staged migration: six hours. */
const started_ms = Date.now() - 6 * 3_600_000;
const logger = createLogger({ verbosity: 'FATAL' });

interface StagedMember {
  fleet: RedisFleet;
  identity: InstanceIdentity;
}

/**
 * Instances in this process that report a copy without syncing, and a coordinator process that serves their dashboard.
 */
export class StagedFleet implements AsyncDisposable {
  readonly #timers: NodeJS.Timeout[] = [];
  #step = 0;

  private constructor(
    readonly coordinator: CoordinatorProcess,
    private readonly members: readonly StagedMember[],
    private readonly namespaces: number,
  ) {
    this.#timers.push(
      setInterval(() => this.#report(), reportInterval_ms(members.length)),
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
    const members = Array.from({ length: instances }, (_, at) => ({
      fleet: new RedisFleet({ redis: parseRedisSettings(redis), fleet: name, logger }),
      identity: identityOf(at),
    }));
    await Promise.all(members.map(({ fleet, identity }) => fleet.join(identity)));
    for (const { fleet } of members) fleet.serve(() => Promise.resolve({ success: true }));
    return new StagedFleet(coordinator, members, namespaces);
  }

  #report(): void {
    this.#step += 1;
    const ids = this.members.map(({ identity }) => identity.id);
    for (const [at, { fleet, identity }] of this.members.entries())
      fleet.report(stagedReport({ identity, ids, at, leads: fleet.isLeader() }, this.#step));
  }

  #publish(): void {
    const others = { collections: 0, totalBytes: 0, copiedBytes: 0, copiedDocuments: 0 };
    const rows = Array.from({ length: this.namespaces }, (_, at) => partOf(at, this.#step));
    for (const { fleet } of this.members) fleet.publishDetails('namespaces', { rows, others });
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
    first?.fleet.publishDetails('history', { interval_ms: 30_000, points, timeline, entriesDropped: 0 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all(this.members.map(({ fleet }) => fleet.leave()));
    await this.coordinator[Symbol.asyncDispose]();
  }
}

function identityOf(at: number): InstanceIdentity {
  return { id: `shard${at}`, syncID: `shard${at}`, incarnation: randomUUID(), release: '2.0.0' };
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
