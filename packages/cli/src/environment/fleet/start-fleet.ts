import { randomBytes } from 'node:crypto';
import type { ContractClient } from '@convoy/api/client/contract-client';
import { Closers } from '@convoy/testbed/closers';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { findRedis, type Redis } from '@convoy/testbed/redis/find-redis';
import { CoordinatorProcess } from './coordinator-process.js';
import { InstanceProcess, type InstanceProcessOptions } from './instance-process.js';

/** A fleet's coordinator. */
export interface FleetCoordinator extends AsyncDisposable {
  readonly client: ContractClient;
  readonly url: string;
  /** Ends it; its port is free until `startAgain`. */
  stop(): Promise<void>;
  /** Starts it again on the same port. */
  startAgain(): Promise<void>;
}

/** An instance of a fleet. */
export interface FleetInstance extends AsyncDisposable {
  readonly name: string;
  readonly url: string;
  readonly client: ContractClient;
}

/** Redis and the name of a fleet there. */
export interface FleetMembership {
  redis: string;
  fleet: string;
}

/** The processes that migrate `source` to `destination`: Redis, a coordinator and one instance per source shard. */
export interface Fleet<Instance extends FleetInstance = InstanceProcess> extends AsyncDisposable {
  redis: Redis;
  /** Its name in Redis. */
  name: string;
  coordinator: FleetCoordinator;
  /** In the order of the source's shards. */
  instances: Instance[];
  /**
   * Starts another process with the id of one that no longer responds, as an operator does on another host.
   * @param way its connection string of the destination, if different
   */
  startSuccessor(id: string, way?: TestCluster): Promise<Instance>;
}

export interface FleetOptions {
  source: TestCluster;
  destination: TestCluster;
  folder: ScratchFolder;
  /** More settings for every instance's configuration file. */
  settings?: Readonly<Record<string, unknown>>;
  /** Connection string of the destination for the instance of a source shard, if different. */
  ways?: ReadonlyMap<string, TestCluster>;
  /** Redis to use; the caller closes it. Without it the fleet starts its own. */
  redis?: Redis;
}

/** How the members of a fleet are started. */
export interface FleetStarters<Instance extends FleetInstance> {
  readonly startCoordinator: (membership: FleetMembership, folder: ScratchFolder) => Promise<FleetCoordinator>;
  readonly startInstance: (options: InstanceProcessOptions) => Promise<Instance>;
}

/** Every member is a process. */
export const asProcesses: FleetStarters<InstanceProcess> = {
  startCoordinator: (membership, folder) => CoordinatorProcess.start(membership, folder),
  startInstance: (options) => InstanceProcess.start(options),
};

/** Starts all processes of a fleet; stops them again when one fails to start. */
export function startFleet(options: FleetOptions): Promise<Fleet> {
  return startFleetAs(asProcesses, options);
}

/** The same with members that are started in another way. */
export async function startFleetAs<Instance extends FleetInstance>(
  { startCoordinator, startInstance }: FleetStarters<Instance>,
  { source, destination, folder, settings, ways, redis: given }: FleetOptions,
): Promise<Fleet<Instance>> {
  const closers = new Closers();
  try {
    const redis = given ?? closers.use(await findRedis(folder));
    // A Redis from outside may serve others too.
    const membership = { redis: redis.url, fleet: `fleet-${randomBytes(6).toString('hex')}` };
    const coordinator = closers.use(await startCoordinator(membership, folder));
    const launch = async (id: string, reached: TestCluster, files: string): Promise<Instance> =>
      closers.use(
        await startInstance({
          id,
          source,
          destination: reached,
          membership,
          folder,
          files,
          ...(settings && { settings }),
        }),
      );
    const starting = source.shardIds.map((id) => launch(id, ways?.get(id) ?? destination, id));
    await Promise.allSettled(starting);
    const instances = await Promise.all(starting);
    let successors = 0;
    const startSuccessor = (id: string, way = destination): Promise<Instance> =>
      launch(id, way, `${id}-successor${(successors += 1)}`);
    return {
      redis,
      name: membership.fleet,
      coordinator,
      instances,
      startSuccessor,
      [Symbol.asyncDispose]: () => closers[Symbol.asyncDispose](),
    };
  } catch (error) {
    await closers[Symbol.asyncDispose]();
    throw error;
  }
}

/** A lone instance: it syncs a replica set or a whole cluster and needs neither Redis nor a coordinator. */
export function startLoneInstance({ source, destination, folder, settings }: FleetOptions): Promise<InstanceProcess> {
  return InstanceProcess.start({
    id: undefined,
    source,
    destination,
    membership: undefined,
    folder,
    ...(settings && { settings }),
  });
}
