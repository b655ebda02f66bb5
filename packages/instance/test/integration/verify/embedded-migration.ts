import type { Mismatch } from '@convoy/api/contract/mismatch';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { Progress } from '@convoy/api/contract/progress';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { type LocalCluster, startLocalCluster } from '@convoy/testbed/cluster/local-cluster';
import { moveQuickly } from '@convoy/testbed/cluster/move-quickly';
import { type Document, MongoClient } from 'mongodb';
import { expect } from 'vitest';
import { systemClock } from '../../../src/async/clock.js';
import type { CallOptions, ClusterClient } from '../../../src/cluster/node-client.js';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { connectConfigured } from '../../../src/lifecycle/migration/clusters.js';
import { createRuntime } from '../../../src/lifecycle/migration/runtime.js';
import type { LeaderStep } from '../../../src/lifecycle/migration/steps.js';
import { atStep } from '../at-step.js';
import { SyncInstance } from '../../../src/lifecycle/instance/sync-instance.js';
import { Metrics } from '../../../src/metrics/metrics.js';
import { instanceLogger } from '../instance-log.js';
import { ClientProxy } from './client-proxy.js';

/** A loaded machine is slow. */
export const patience = { timeout: 120_000, interval: 50 };
/** The same for what takes many seconds on any machine. */
export const longPatience = { timeout: patience.timeout, interval: 500 };

/** Two clusters, and one instance that migrates between them. */
export class EmbeddedMigration implements AsyncDisposable {
  readonly source: MongoClient;
  readonly destination: MongoClient;
  instance: SyncInstance;
  #incarnation = 0;
  /** The instance's commands to the destination wait for it. */
  #gate: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly clusters: readonly [LocalCluster, LocalCluster],
    private readonly flags: Document,
  ) {
    this.source = new MongoClient(clusters[0].connectionString);
    this.destination = new MongoClient(clusters[1].connectionString);
    this.instance = this.#instance();
  }

  /** @param flags further ones of the instance */
  static async open(flags: Document = {}): Promise<EmbeddedMigration> {
    const topology = { shards: 2 };
    const clusters = await Promise.all([
      startLocalCluster({ side: 'source', topology }),
      startLocalCluster({ side: 'destination', topology }),
    ]);
    return new EmbeddedMigration(clusters, flags);
  }

  /** Lets the source move collections without waiting. */
  moveQuickly(): Promise<void> {
    return moveQuickly(this.clusters[0]);
  }

  /** A client of a shard of the source, or of its config server, where it has access of its own. */
  async serverOfSource(id: string): Promise<MongoClient> {
    const { configConnectionString } = this.clusters[0];
    if (id === 'config') return new MongoClient(configConnectionString ?? '');
    const { shards } = await this.source.db('admin').command({ listShards: 1 });
    const host = (shards as { _id: string; host: string }[])
      .find(({ _id }) => _id === id)
      ?.host.split('/')
      .at(-1);
    return new MongoClient(`mongodb://${host}/?directConnection=true`);
  }

  /** Starts with the contract's defaults. */
  async start(options: Document = {}): Promise<void> {
    await this.instance.open();
    await this.begin(options);
  }

  /** Sends only the start. */
  async begin(options: Document = {}): Promise<void> {
    await this.instance.start(parseStartRequest({ source: 'cluster0', destination: 'cluster1', ...options }));
  }

  /** Ends the process, and another one continues. */
  async restart(): Promise<void> {
    await this.instance.close();
    this.instance = this.#instance();
    await this.instance.open();
  }

  untilCanCommit(): Promise<unknown> {
    return expect.poll(async () => (await this.instance.progress()).canCommit, patience).toBe(true);
  }

  async commit(): Promise<void> {
    await this.untilCanCommit();
    await this.instance.commit();
  }

  /** Commits and waits for the end. @returns the name of the failure, or COMMITTED */
  async end(): Promise<string> {
    await this.commit();
    let end = '';
    const look = async (): Promise<string> => {
      end = await this.instance.progress().then(
        ({ state }) => state,
        (error: unknown) => (error as { error: string }).error,
      );
      return end;
    };
    await expect.poll(look, patience).not.toBe('COMMITTING');
    return end;
  }

  async failure(): Promise<string> {
    return this.instance.progress().then(
      () => '',
      (error: unknown) => (error as { errorDescription: string }).errorDescription,
    );
  }

  progress(): Promise<Progress> {
    return this.instance.progress();
  }

  async mismatches(
    query: Partial<{ kind: Mismatch['kind']; namespace: string; limit: number }> = {},
  ): Promise<Mismatch[]> {
    const found: Mismatch[] = [];
    for await (const mismatch of this.instance.mismatches({ limit: 1_000, ...query })) found.push(mismatch);
    return found;
  }

  /** Runs something right after a step, before the instance sends anything more to the destination. */
  after(step: LeaderStep, act: () => Promise<unknown>): void {
    void atStep(step, () => {
      this.#gate = act();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.instance.close();
    await Promise.all([this.source.close(), this.destination.close()]);
    for (const cluster of this.clusters) await cluster.close();
  }

  #instance(): SyncInstance {
    const [source, destination] = this.clusters;
    const flags = {
      cluster0: source.connectionString,
      cluster1: destination.connectionString,
      partition_seconds: 1,
      checkpoint_ms: 200,
      ...this.flags,
    };
    const runtime = createRuntime(
      parseInstanceConfig({ flags }),
      systemClock,
      instanceLogger('instance single'),
      new Metrics({ processMetrics: false }),
    );
    this.#incarnation += 1;
    const identity = { id: 'single', syncID: 'single', incarnation: String(this.#incarnation), release: '2.0.0' };
    const fleet = new LoneFleet();
    void fleet.join(identity);
    return new SyncInstance(runtime, fleet, identity, async (config, name, access, signal) => {
      const cluster = await connectConfigured(config, name, access, signal);
      return name === 'cluster1' ? gated(cluster, () => this.#gate) : cluster;
    });
  }
}

/** The cluster behind a client whose commands wait. */
function gated(cluster: ClusterClient, gate: () => Promise<unknown>): ClusterClient {
  const router = new (class extends ClientProxy {
    override async command(database: string, command: Document, options: CallOptions): Promise<Document> {
      await gate();
      return super.command(database, command, options);
    }
  })(cluster.router);
  return new Proxy(cluster, {
    get: (target, name) => {
      if (name === 'router') return router;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
