import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { FleetDirector } from '@convoy/coordinator/director/fleet-director';
import { RedisFleet } from '@convoy/coordinator/fleet/redis-fleet';
import { createLogger } from '@convoy/instance/logging/logger';

/** Interval of the instances' reports, with or without news. */
const report_ms = 250;
const readyWithin_ms = 60_000;
const look_ms = 50;

/** Instances in this process and one coordinator that use one Redis and sync nothing. */
export class FleetOfSize implements AsyncDisposable {
  readonly name: string;
  readonly director: FleetDirector;
  readonly #members: { fleet: RedisFleet; report: InstanceReport }[] = [];
  readonly #reporting: NodeJS.Timeout;
  /** Whether every report has new values. */
  isCopying = false;
  #copied = 0;

  private constructor(name: string, url: string) {
    this.name = name;
    this.director = new FleetDirector({
      redis: parseRedisSettings(url),
      fleet: name,
      logger: createLogger({ verbosity: 'FATAL' }),
    });
    this.#reporting = setInterval(() => this.#report(), report_ms);
  }

  /** Starts all instances and waits until the coordinator has received every one's report. */
  static async start(url: string, size: number): Promise<FleetOfSize> {
    const fleet = new FleetOfSize(`bench-${size}-${process.pid}`, url);
    await fleet.director.open();
    await Promise.all(Array.from({ length: size }, (_, at) => fleet.#join(url, `shard${at}`)));
    const end_ms = performance.now() + readyWithin_ms;
    while (fleet.director.instances().length < size || fleet.director.snapshot().leader === null) {
      if (performance.now() > end_ms) throw new Error(`A fleet of ${size} instances is not complete in time.`);
      await delay(look_ms);
    }
    return fleet;
  }

  async #join(url: string, id: string): Promise<void> {
    const fleet = new RedisFleet({
      redis: parseRedisSettings(url),
      fleet: this.name,
      logger: createLogger({ verbosity: 'FATAL' }),
    });
    const identity = { id, syncID: id, incarnation: randomUUID(), release: '2.0.0' };
    await fleet.join(identity);
    fleet.serve(() => Promise.resolve({ success: true }));
    this.#members.push({ fleet, report: idleReport(identity) });
  }

  #report(): void {
    if (this.isCopying) this.#copied += 1;
    for (const { fleet, report } of this.#members)
      fleet.report(this.isCopying ? copying(report, this.#copied) : report);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#reporting);
    await Promise.all([this.director.close(), ...this.#members.map(({ fleet }) => fleet.leave())]);
  }
}

function copying(report: InstanceReport, copied: number): InstanceReport {
  const collectionCopy = { estimatedTotalBytes: 1_000_000_000, estimatedCopiedBytes: copied };
  return { ...report, state: 'RUNNING', progress: { ...report.progress, state: 'RUNNING', collectionCopy } };
}
