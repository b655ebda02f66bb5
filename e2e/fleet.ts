import { MongoClient } from 'mongodb';
import { expect, onTestFinished } from 'vitest';
import type { ContractClient } from '@convoy/api/client/contract-client';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Progress } from '@convoy/api/contract/progress';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import { compareClusters, type Comparison } from '@convoy/cli/demo/compare';
import { Closers } from '@convoy/testbed/closers';
import type { TestUser } from '@convoy/testbed/cluster/access-control';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import type { TestCluster, TestClusterOptions } from '@convoy/testbed/cluster/test-cluster';
import { CoordinatorProcess } from '@convoy/cli/environment/fleet/coordinator-process';
import { follow, NotInTime } from '@convoy/cli/environment/fleet/follow';
import { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import {
  asProcesses,
  type Fleet,
  type FleetCoordinator,
  type FleetInstance,
  startFleetAs,
  startLoneInstance,
} from '@convoy/cli/environment/fleet/start-fleet';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import type { Redis } from '@convoy/testbed/redis/find-redis';
import { loadEverything, loadLittle } from './data.js';
import { inThisProcess, startCoordinatorHere, startInstanceHere } from './fleet-here.js';
import { isFullRun } from './requirements.js';

/** Source and destination by name, defaults for the rest: verified. */
export const defaultStart: StartRequestBody = { source: 'cluster0', destination: 'cluster1' };

/** The limit of each phase of a test; a machine under load is slow. */
const phaseLimit_ms = 180_000;

type Topology = TestClusterOptions['topology'];

interface Topologies extends Pick<TestClusterOptions, 'release' | 'withUsers' | 'members' | 'configMembers' | 'tls'> {
  source: Topology;
  destination: Topology;
  /** The clusters whose config server is one of the shards. */
  configShards?: readonly ('source' | 'destination')[];
  /** See `TestClusterOptions`. */
  sourceOplogBytes?: number;
}

/** Clients of both clusters. */
interface Clients {
  readonly source: MongoClient;
  readonly destination: MongoClient;
}

/** Two clusters with clients; the processes that connect them are started separately. */
export class Clusters implements AsyncDisposable {
  private constructor(
    readonly source: TestCluster,
    readonly destination: TestCluster,
    /** Of a user with all privileges. */
    readonly clients: Clients,
    /** Of a user whose writes can be blocked; the same as the others on clusters without users. */
    readonly shoppers: Clients,
    private readonly folder: ScratchFolder,
    private readonly closers: Closers,
  ) {}

  /** Starts both clusters, and loads the source: see `loadEverything`. */
  static loaded(topologies: Topologies, orders: number): Promise<Clusters> {
    return Clusters.startWith(topologies, (client, cluster) => loadEverything(client, cluster, orders));
  }

  /** Starts both clusters, and loads a little into the source: see `loadLittle`. */
  static little(topologies: Topologies): Promise<Clusters> {
    return Clusters.startWith(topologies, loadLittle);
  }

  private static async startWith(
    topologies: Topologies,
    load: (client: MongoClient, cluster: TestCluster) => Promise<void>,
  ): Promise<Clusters> {
    const clusters = await Clusters.start(topologies);
    try {
      await load(clusters.clients.source, clusters.source);
      return clusters;
    } catch (error) {
      await clusters[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts both clusters. If the test fails, its logs stay, and the report names their folder. */
  static async start(topologies: Topologies): Promise<Clusters> {
    const folder = ScratchFolder.create('e2e');
    onTestFinished(({ task }) => {
      if (task.result?.state === 'fail') {
        folder.keep();
        task.meta.logs = folder.path;
      } else {
        folder[Symbol.dispose]();
      }
    });
    const closers = new Closers();
    const { release, withUsers = false, members = 1, configMembers = 1, tls, configShards = [] } = topologies;
    const servers = {
      ...(release !== undefined && { release }),
      withUsers,
      members,
      configMembers,
      ...(tls !== undefined && { tls }),
    };
    const start = async (name: 'source' | 'destination', oplogBytes?: number) =>
      closers.use(
        await startTestCluster({
          name,
          side: name,
          topology: topologies[name],
          folder,
          isHere: true,
          configShard: configShards.includes(name),
          ...servers,
          ...(oplogBytes !== undefined && { oplogBytes }),
        }),
      );
    try {
      const source = await start('source', topologies.sourceOplogBytes);
      const destination = await start('destination');
      const clientsOf = (user: TestUser): Clients => {
        const [ofSource, ofDestination] = [
          new MongoClient(source.connectionStringOf(user)),
          new MongoClient(destination.connectionStringOf(user)),
        ];
        closers.defer(() => Promise.all([ofSource.close(), ofDestination.close()]));
        return { source: ofSource, destination: ofDestination };
      };
      return new Clusters(source, destination, clientsOf('root'), clientsOf('shopper'), folder, closers);
    } catch (error) {
      await closers[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Coordinator, Redis and one instance per source shard. `settings` go into every instance's configuration. In full
   * runs the coordinator is a process.
   * @param ways how instances reach the destination, by source shard, when not directly
   * @param redis another fleet's; by default it has its own
   */
  startFleet(
    settings: Readonly<Record<string, unknown>> = {},
    ways: ReadonlyMap<string, TestCluster> = new Map(),
    redis?: Redis,
  ): Promise<Fleet> {
    const starters = isFullRun ? asProcesses : { ...asProcesses, startCoordinator: startCoordinatorHere };
    return startFleetAs(starters, {
      source: this.source,
      destination: this.destination,
      folder: this.folder,
      settings,
      ways,
      ...(redis && { redis }),
    });
  }

  /** The same for tests that kill and freeze nobody: in the process of the test, but for full runs. */
  startFleetHere(settings: Readonly<Record<string, unknown>> = {}): Promise<Fleet<FleetInstance>> {
    if (isFullRun) return this.startFleet(settings);
    const { source, destination, folder } = this;
    return startFleetAs(inThisProcess, { source, destination, folder, settings });
  }

  /**
   * One more process for a fleet.
   * @param id its identity
   * @param reversed whether source and destination are swapped
   */
  startInstance({ redis, name }: Fleet, id: string, { reversed = false } = {}): Promise<InstanceProcess> {
    const [source, destination] = reversed ? [this.destination, this.source] : [this.source, this.destination];
    return InstanceProcess.start({
      id,
      source,
      destination,
      membership: { redis: redis.url, fleet: name },
      folder: this.folder,
      files: `${id}-more`,
    });
  }

  /** One more coordinator for a fleet, with its own settings; in full runs it is a process. */
  startCoordinator(
    { redis, name }: Fleet<FleetInstance>,
    files: string,
    settings: Readonly<Record<string, unknown>>,
  ): Promise<FleetCoordinator> {
    const membership = { redis: redis.url, fleet: name };
    return isFullRun
      ? CoordinatorProcess.start(membership, this.folder, settings, files)
      : startCoordinatorHere(membership, this.folder, settings, files);
  }

  /** A lone instance, without Redis. @param source how it reaches the source, when not directly */
  startLoneInstance(settings: Readonly<Record<string, unknown>> = {}, source = this.source): Promise<InstanceProcess> {
    return startLoneInstance({ source, destination: this.destination, folder: this.folder, settings });
  }

  /** The same for tests that do not kill it: in the process of the test, but for full runs. */
  startLoneInstanceHere(
    settings: Readonly<Record<string, unknown>> = {},
    source = this.source,
  ): Promise<FleetInstance> {
    if (isFullRun) return this.startLoneInstance(settings, source);
    const { destination, folder } = this;
    return startInstanceHere({ id: undefined, source, destination, membership: undefined, folder, settings });
  }

  /**
   * Brings a migration to its end as operators do: waits until a commit would be accepted, stops the writes, commits,
   * and expects equal clusters.
   * @param client the coordinator's, or a lone instance's
   */
  async cutOver(client: ContractClient, workload?: { stop(): Promise<void> }): Promise<Comparison> {
    await untilCanCommit(client);
    await workload?.stop();
    return this.commit(client);
  }

  /** Commits, waits for the end and expects equal clusters; nothing may write to the source any more. */
  async commit(client: ContractClient): Promise<Comparison> {
    await client.commit();
    await untilCommitted(client);
    return this.expectEqual();
  }

  /**
   * Expects all users' data to be equal on both clusters, every document byte for byte.
   * @param nameThere the names on the destination where they are other ones
   */
  async expectEqual(nameThere?: (namespace: string) => string): Promise<Comparison> {
    const comparison = await this.compare(nameThere);
    expect(comparison).toMatchObject({ equal: true, differences: [] });
    return comparison;
  }

  /** Compares all users' data on both clusters. */
  compare(nameThere?: (namespace: string) => string): Promise<Comparison> {
    return compareClusters(this.clients.source, this.clients.destination, undefined, nameThere);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.closers[Symbol.asyncDispose]();
  }
}

/**
 * Waits until the service's progress fulfils a condition.
 * @param limit_ms for phases that are longer than usual
 * @throws Error with the last progress if that takes too long
 */
export async function untilProgress(
  client: ContractClient,
  what: string,
  until: (progress: Progress) => boolean,
  limit_ms = phaseLimit_ms,
): Promise<Progress> {
  let last: Progress | undefined;
  const read = async () => (last = (await client.progress()).progress);
  return follow(read, { what, limit_ms, until }).catch((cause: unknown) => {
    throw cause instanceof NotInTime
      ? new Error(`${cause.message} Last progress: ${JSON.stringify(last)}`, { cause })
      : cause;
  });
}

/** Waits until a commit would be accepted. */
export function untilCanCommit(client: ContractClient, limit_ms?: number): Promise<Progress> {
  return untilProgress(client, 'canCommit', ({ canCommit }) => canCommit, limit_ms);
}

/**
 * Sends a command until it is taken. An instance that was killed, or answered late, may have taken it all the same: it
 * then stands where the command leads.
 */
export async function untilTaken(command: () => Promise<unknown>): Promise<void> {
  const send = () =>
    command().then(
      () => 'taken',
      (error: unknown) => (error instanceof ConvoyError && error.error === 'notInThisState' ? 'taken' : String(error)),
    );
  await expect.poll(send, { timeout: 120_000, interval: 200 }).toBe('taken');
}

/** Waits for the end of the migration. */
export function untilCommitted(client: ContractClient): Promise<Progress> {
  return untilProgress(
    client,
    'COMMITTED with canWrite',
    ({ state, canWrite }) => state === 'COMMITTED' && canWrite === true,
  );
}
