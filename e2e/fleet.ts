import { MongoClient } from 'mongodb';
import { onTestFinished } from 'vitest';
import type { ContractClient } from '@convoy/api/client/contract-client';
import type { Progress } from '@convoy/api/contract/progress';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import { compareClusters, type Comparison } from '@convoy/cli/demo/compare';
import { Closers } from '@convoy/cli/environment/closers';
import { startTestCluster } from '@convoy/cli/environment/cluster/start-test-cluster';
import type { TestCluster, TestClusterOptions } from '@convoy/cli/environment/cluster/test-cluster';
import { follow } from '@convoy/cli/environment/fleet/follow';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import { startFleet, startLoneInstance, type Fleet } from '@convoy/cli/environment/fleet/start-fleet';
import { ScratchFolder } from '@convoy/cli/environment/process/scratch-folder';

/** The options of most tests: source and destination by name, no verifier. */
export const plainStart: StartRequestBody = { source: 'cluster0', destination: 'cluster1', verification: { enabled: false } };

/** How long each phase of a test may take; a machine under load is slow. */
const phaseLimit_ms = 180_000;

type Topology = TestClusterOptions['topology'];

/** Two clusters with clients; the processes that connect them are started separately. */
export class Clusters implements AsyncDisposable {
  private constructor(
    readonly source: TestCluster,
    readonly destination: TestCluster,
    readonly clients: { readonly source: MongoClient; readonly destination: MongoClient },
    private readonly folder: ScratchFolder,
    private readonly closers: Closers,
  ) {}

  /** Starts both clusters. When the test fails its logs are kept and their folder is named. */
  static async start(topologies: { source: Topology; destination: Topology }): Promise<Clusters> {
    const folder = ScratchFolder.create('e2e');
    onTestFinished(({ task }) => {
      if (task.result?.state === 'fail') {
        folder.keep();
        console.error(`The logs of "${task.name}" are in ${folder.path}`);
      } else {
        folder[Symbol.dispose]();
      }
    });
    const closers = new Closers();
    const start = async (name: 'source' | 'destination') => closers.use(await startTestCluster({ name, topology: topologies[name], folder }));
    try {
      const source = await start('source');
      const destination = await start('destination');
      const clients = { source: new MongoClient(source.connectionString), destination: new MongoClient(destination.connectionString) };
      closers.defer(() => Promise.all([clients.source.close(), clients.destination.close()]));
      return new Clusters(source, destination, clients, folder, closers);
    } catch (error) {
      await closers[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Coordinator, Redis and one instance per source shard. `settings` go into every instance's configuration. */
  startFleet(settings: Readonly<Record<string, unknown>> = {}): Promise<Fleet> {
    return startFleet({ source: this.source, destination: this.destination, folder: this.folder, settings });
  }

  /** One instance for everything, without Redis. */
  startLoneInstance(settings: Readonly<Record<string, unknown>> = {}): Promise<InstanceProcess> {
    return startLoneInstance({ source: this.source, destination: this.destination, folder: this.folder, settings });
  }

  /** Compares everything that users have on both clusters. */
  compare(): Promise<Comparison> {
    return compareClusters(this.clients.source, this.clients.destination);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.closers[Symbol.asyncDispose]();
  }
}

/** Waits until the service's progress fulfils a condition. */
export function untilProgress(client: ContractClient, what: string, until: (progress: Progress) => boolean): Promise<Progress> {
  const read = async () => (await client.progress()).progress;
  return follow(read, { what, limit_ms: phaseLimit_ms, until });
}

/** Waits until a commit would be accepted. */
export function untilCanCommit(client: ContractClient): Promise<Progress> {
  return untilProgress(client, 'canCommit', ({ canCommit }) => canCommit);
}

/** Waits for the end of the migration. */
export function untilCommitted(client: ContractClient): Promise<Progress> {
  return untilProgress(client, 'COMMITTED with canWrite', ({ state, canWrite }) => state === 'COMMITTED' && canWrite === true);
}
