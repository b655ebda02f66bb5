import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Warning } from '@convoy/api/contract/progress';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import { connectionFailure, unreachable, type ConnectionFailure } from '../../cluster/connection-failure.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { failureName } from '../../cluster/failure.js';
import { Metadata } from '../../store/metadata.js';
import { MigrationRecords } from '../../store/migration-record.js';
import { type ClusterName, type Connect, openDestination, sparesOther } from './clusters.js';
import { clusterIdsOf } from './fleet-clusters.js';
import type { Runtime } from './runtime.js';

/** In the order in which a migration is looked for on them. */
const names: readonly ClusterName[] = ['cluster1', 'cluster0'];

/** Both clusters that an instance is configured with, each connected to once, for its router. */
export class ConfiguredClusters {
  readonly #connected = new Map<ClusterName, ClusterClient>();
  readonly #unreachable = new Map<ClusterName, ConnectionFailure>();
  #refusal: string | null = null;

  constructor(
    private readonly runtime: Runtime,
    private readonly connect: Connect,
  ) {}

  /** Those that are connected to. */
  get connected(): (readonly [ClusterName, ClusterClient])[] {
    return names.flatMap((name) => {
      const cluster = this.#connected.get(name);
      return cluster === undefined ? [] : [[name, cluster] as const];
    });
  }

  /** Null until both were reached. */
  get ids(): InstanceReport['clusterIds'] {
    return clusterIdsOf(this.#connected);
  }

  /** Which clusters are tried again at present, and why, for those who may see hosts. */
  get warnings(): Warning[] {
    return [...this.#unreachable].map(([name, failure]) => ({
      name: 'waitingForCluster',
      description: `${unreachable(name, failure)} It is tried again.`,
    }));
  }

  /** The same without hosts; empty when both are reached, or nothing has failed yet. Anybody may read it. */
  get waitingFor(): string {
    return [...this.#unreachable].map(([name, failure]) => unreachable(name, { ...failure, host: null })).join(' ');
  }

  /** What keeps one from being connected to for good while the other one has not told whether it can be done without; anybody may read it. */
  get refusal(): string | null {
    return this.#refusal;
  }

  /**
   * Connects to both; without the source when the destination tells of a migration that needs it no more.
   * @throws what connecting throws
   */
  async open(signal: AbortSignal): Promise<void> {
    const spared = new AbortController();
    const each = AbortSignal.any([signal, spared.signal]);
    const connecting = names.map(async (name) => {
      try {
        return await this.#open(name, each);
      } catch (error) {
        if (!each.aborted) this.#reportRefusal(name, error);
        throw error;
      }
    });
    const sparing = connecting.map(async (cluster) => {
      if (!(await this.#sparesOther(await cluster, each))) throw new ConvoyError('notReady');
    });
    if (
      await Promise.any(sparing).then(
        () => true,
        () => false,
      )
    ) {
      spared.abort();
      this.#refusal = null;
    } else await Promise.all(connecting);
  }

  /** @throws ConvoyError `notReady` while it is not connected to */
  get(name: ClusterName): ClusterClient {
    const cluster = this.#connected.get(name);
    if (cluster === undefined) throw new ConvoyError('notReady');
    return cluster;
  }

  /** Connects to one that was left out. */
  async reach(name: ClusterName, signal: AbortSignal): Promise<ClusterClient> {
    return this.#connected.get(name) ?? this.#open(name, signal);
  }

  async close(): Promise<void> {
    for (const [, cluster] of this.connected) await cluster.close();
  }

  async #open(name: ClusterName, signal: AbortSignal): Promise<ClusterClient> {
    const connect: Connect = (...args) => this.connect(...args).catch((error: unknown) => this.#fail(name, error));
    const cluster = await openDestination(this.runtime, name, signal, connect).finally(() =>
      this.#unreachable.delete(name),
    );
    if (signal.aborted) await cluster.close();
    signal.throwIfAborted();
    this.#connected.set(name, cluster);
    return cluster;
  }

  #fail(name: ClusterName, error: unknown): never {
    const failure = connectionFailure(error);
    if (failure !== null) this.#unreachable.set(name, failure);
    throw error;
  }

  #reportRefusal(name: ClusterName, error: unknown): void {
    this.#refusal = `${name} cannot be connected to (${error instanceof ConvoyError ? error.error : failureName(error)})`;
    this.runtime.logger.error(
      { event: 'clusterRefused', cluster: name, err: error },
      'a cluster cannot be connected to; the instance begins only if the other one needs it no more',
    );
  }

  async #sparesOther(cluster: ClusterClient, signal: AbortSignal): Promise<boolean> {
    return sparesOther(
      await new MigrationRecords(new Metadata(cluster.router, this.runtime.retrying)).read(signal),
      cluster,
    );
  }
}
