import { MongoClient } from 'mongodb';
import { demoSizes, loadDemoData } from '@convoy/cli/demo/load';
import { Workload } from '@convoy/cli/demo/workload';
import { CoordinatorProcess } from '@convoy/cli/environment/fleet/coordinator-process';
import { startFleet, type Fleet } from '@convoy/cli/environment/fleet/start-fleet';
import { Closers } from '@convoy/testbed/closers';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { CommandGate } from '../gate/command-gate.js';
import type { Prometheus } from './prometheus.js';

export interface MonitoredFleetOptions {
  /** Value of the label `fleet`. */
  readonly name: string;
  readonly documents: number;
  /** Oplog size of each source shard; plentiful by default. */
  readonly oplogBytes?: number;
  /** Token of the instances and of one more coordinator, which Prometheus must send. */
  readonly token: string;
}

const shards = 2;
const seed = 1;

/** A fleet between a loaded and an empty cluster, each instance behind a gate, scraped by Prometheus. */
export class MonitoredFleet implements AsyncDisposable {
  private constructor(
    readonly name: string,
    readonly fleet: Fleet,
    readonly gates: readonly CommandGate[],
    readonly clients: Readonly<Record<'source' | 'destination', MongoClient>>,
    readonly documents: number,
    /** Addresses that Prometheus scrapes. */
    readonly targets: readonly string[],
    private readonly closers: Closers,
  ) {}

  static async start(
    { name, documents, oplogBytes, token }: MonitoredFleetOptions,
    prometheus: Prometheus,
    folder: ScratchFolder,
  ): Promise<MonitoredFleet> {
    const closers = new Closers();
    try {
      const cluster = async (side: 'source' | 'destination', size?: number): Promise<TestCluster> => {
        const limits = size === undefined ? {} : { oplogBytes: size };
        return closers.use(
          await startTestCluster({ name: `${name}-${side}`, side, topology: { shards }, folder, ...limits }),
        );
      };
      const source = await cluster('source', oplogBytes);
      const destination = await cluster('destination');
      const ways = new Map<string, TestCluster>();
      const gates: CommandGate[] = [];
      for (const id of source.shardIds) {
        const gate = closers.use(await CommandGate.open(destination));
        gates.push(gate);
        ways.set(id, gate.way(destination));
      }
      const fleet = closers.use(await startFleet({ source, destination, folder, ways, settings: { token } }));
      const guarded = closers.use(
        await CoordinatorProcess.start(
          { redis: fleet.redis.url, fleet: fleet.name },
          folder,
          { token },
          `${name}-guarded-coordinator`,
        ),
      );
      const clients = {
        source: new MongoClient(source.connectionString),
        destination: new MongoClient(destination.connectionString),
      };
      closers.defer(() => Promise.all([clients.source.close(), clients.destination.close()]));
      await loadDemoData(clients.source, source.shardIds, demoSizes(documents), () => undefined);
      const targets = [fleet.coordinator, guarded, ...fleet.instances].map(({ url }) => new URL(url).host);
      await prometheus.scrape({ targets, labels: { fleet: name } });
      return new MonitoredFleet(name, fleet, gates, clients, documents, targets, closers);
    } catch (error) {
      await closers[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Writes to the source until the workload is stopped or the fleet disposed. */
  write(operationsPerSecond: number): Workload {
    const { measurements } = demoSizes(this.documents);
    const workload = Workload.start({ client: this.clients.source, measurements, operationsPerSecond, seed });
    this.closers.defer(() => workload.stop().catch(() => undefined));
    return workload;
  }

  /** Raises a counter of the source all the time, as users do. @returns what ends it */
  count(): () => Promise<void> {
    const counters = this.clients.source.db('climate').collection<{ _id: string; value: number }>('counters');
    const stopping = new AbortController();
    const running = (async () => {
      while (!stopping.signal.aborted)
        await counters.updateOne({ _id: 'visits' }, { $inc: { value: 1 } }, { upsert: true });
    })();
    running.catch(() => undefined);
    return async () => {
      stopping.abort();
      await running;
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.closers[Symbol.asyncDispose]();
  }
}
