import type { ContractClient } from '@convoy/api/client/contract-client';
import { Closers } from '@convoy/testbed/closers';
import type { Fleet, FleetInstance } from '@convoy/cli/environment/fleet/start-fleet';
import { loadEverything } from './data.js';
import { Clusters } from './fleet.js';
import { Workload } from './workload.js';

/** Options of a fleet under load. */
interface FleetUnderLoadOptions {
  /** Documents of the large collection. */
  readonly orders: number;
  /** 2 by default. */
  readonly destinationShards?: number;
  /** Of every instance's configuration. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/**
 * A fleet between a loaded cluster of two shards, to which users write, and an empty one. Its migration is not started.
 */
export class FleetUnderLoad<Members extends Fleet<FleetInstance> = Fleet> implements AsyncDisposable {
  private constructor(
    readonly clusters: Clusters,
    readonly fleet: Members,
    readonly workload: Workload,
    private readonly closers: Closers,
  ) {}

  static start(options: FleetUnderLoadOptions): Promise<FleetUnderLoad> {
    return FleetUnderLoad.with(options, (clusters) => clusters.startFleet(options.settings));
  }

  /** For tests that kill and freeze nobody. */
  static startHere(options: FleetUnderLoadOptions): Promise<FleetUnderLoad<Fleet<FleetInstance>>> {
    return FleetUnderLoad.with(options, (clusters) => clusters.startFleetHere(options.settings));
  }

  private static async with<Members extends Fleet<FleetInstance>>(
    { orders, destinationShards = 2 }: FleetUnderLoadOptions,
    startFleet: (clusters: Clusters) => Promise<Members>,
  ): Promise<FleetUnderLoad<Members>> {
    const closers = new Closers();
    try {
      const clusters = closers.use(
        await Clusters.start({ source: { shards: 2 }, destination: { shards: destinationShards } }),
      );
      await loadEverything(clusters.clients.source, clusters.source, orders);
      const fleet = closers.use(await startFleet(clusters));
      const workload = closers.use(Workload.start(clusters.clients.source, orders));
      return new FleetUnderLoad(clusters, fleet, workload, closers);
    } catch (error) {
      await closers[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The coordinator's. */
  get client(): ContractClient {
    return this.fleet.coordinator.client;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.closers[Symbol.asyncDispose]();
  }
}
