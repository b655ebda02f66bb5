import { carryOut } from '@convoy/instance/process/instance-process';
import { systemClock } from '@convoy/instance/cluster/clock';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import { createRuntime } from '@convoy/instance/lifecycle/migration/runtime';
import { SyncInstance } from '@convoy/instance/lifecycle/sync-instance';
import type { Logger } from '@convoy/instance/logging/logger';
import { Metrics } from '@convoy/instance/metrics/metrics';
import type { Fleet, InstanceIdentity } from '@convoy/api/fleet/fleet';
import type { CountedCalls } from './counted-calls.js';
import type { FleetMember } from './fleet-member.js';
import type { Mark } from './member-order.js';

export interface EngineMemberDependencies {
  fleet: Fleet;
  identity: InstanceIdentity;
  clusters: { cluster0: string; cluster1: string };
  counted: CountedCalls;
  logger: Logger;
}

/** A member of a fleet with the whole engine, without its HTTP server. */
export class EngineMember implements FleetMember {
  readonly #instance: SyncInstance;

  constructor(private readonly deps: EngineMemberDependencies) {
    const { fleet, identity, clusters, counted, logger } = deps;
    const config = parseInstanceConfig({ file: { ...clusters, id: identity.id } });
    const runtime = createRuntime(config, systemClock, logger, new Metrics({ processMetrics: false }));
    this.#instance = new SyncInstance(runtime, fleet, identity, counted.connect);
    fleet.serve((command, awaited_ms) => carryOut(this.#instance, command, awaited_ms));
  }

  get leads(): boolean {
    return this.deps.fleet.isLeader();
  }

  /** Connects and resumes its part of a migration. */
  open(): Promise<void> {
    return this.#instance.open();
  }

  mark(): Mark {
    throw new Error('The values of an engine are its own.');
  }

  close(): Promise<void> {
    return this.#instance.close();
  }
}
