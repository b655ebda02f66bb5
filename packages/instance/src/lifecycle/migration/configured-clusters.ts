import type { Warning } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import {
  connectionFailure,
  type ConnectionFailure,
  RefusedClusterError,
  unreachable,
} from '../../cluster/connection-failure.js';
import { failureName } from '../../cluster/failure.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { Metadata } from '../../store/metadata.js';
import { MigrationRecords } from '../../store/migration-record.js';
import { type ClusterName, type Connect, openDestination, sparesOther } from './clusters.js';
import type { Runtime } from './runtime.js';

/** In the order in which an instance looks for a migration on them. */
const names: readonly ClusterName[] = ['cluster1', 'cluster0'];

/** Both configured clusters, with one connection each, through the router. */
export class ConfiguredClusters {
  readonly #connected = new Map<ClusterName, ClusterClient>();
  readonly #unreachable = new Map<ClusterName, ConnectionFailure>();
  #refusal: { readonly cluster: ClusterName; readonly error: unknown } | null = null;

  constructor(
    private readonly runtime: Runtime,
    private readonly connect: Connect,
  ) {}

  /** The connected clusters. */
  get connected(): (readonly [ClusterName, ClusterClient])[] {
    return names.flatMap((name) => {
      const cluster = this.#connected.get(name);
      return cluster === undefined ? [] : [[name, cluster] as const];
    });
  }

  /** Null until both are reached. */
  get ids(): InstanceReport['clusterIds'] {
    return clusterIdsOf(this.#connected);
  }

  /** Which clusters the instance retries, and why, for users who may see hosts. */
  get warnings(): Warning[] {
    const waiting = [...this.#unreachable].map(([name, failure]) => ({
      name: 'waitingForCluster',
      description: `${unreachable(name, failure)} The instance tries again.`,
    }));
    if (this.#refusal === null) return waiting;
    return [{ name: 'clusterRefused', description: this.#refusalText((failure) => failure) }, ...waiting];
  }

  /** The same without hosts, so anybody may read it. Empty when both are reached, or nothing has failed yet. */
  get waitingFor(): string {
    return [...this.#unreachable].map(([name, failure]) => unreachable(name, { ...failure, host: null })).join(' ');
  }

  /**
   * What makes one cluster refuse the connection permanently, while the other has not shown whether it can be spared.
   * Anybody may read it.
   */
  get refusal(): string | null {
    return this.#refusal === null ? null : this.#refusalText((failure) => ({ ...failure, host: null }));
  }

  /**
   * Connects to both; without the source when the destination's record shows that the migration no longer needs it.
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

  /** @throws ConvoyError `notReady` until it is connected */
  get(name: ClusterName): ClusterClient {
    const cluster = this.#connected.get(name);
    if (cluster === undefined) throw new ConvoyError('notReady');
    return cluster;
  }

  /** Connects to a cluster that `open` spared. */
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

  /** @param shown what of a failure to show */
  #refusalText(shown: (failure: ConnectionFailure) => ConnectionFailure): string {
    const { cluster, error } = this.#refusal ?? { cluster: 'cluster0', error: null };
    if (error instanceof RefusedClusterError) return unreachable(cluster, shown(error.failure));
    const reason = error instanceof ConvoyError ? error.error : failureName(error);
    return `${cluster} refuses the connection (${reason}); see the log.`;
  }

  #reportRefusal(name: ClusterName, error: unknown): void {
    this.#refusal = { cluster: name, error };
    this.runtime.logger.error(
      { event: 'clusterRefused', cluster: name, err: error },
      'a cluster refuses the connection; the instance starts only if the other cluster no longer needs it',
    );
  }

  async #sparesOther(cluster: ClusterClient, signal: AbortSignal): Promise<boolean> {
    return sparesOther(
      await new MigrationRecords(new Metadata(cluster.router, this.runtime.retrying)).read(signal),
      cluster,
    );
  }
}

/** The ids of both configured clusters; null until both are reached. */
export function clusterIdsOf(clusters: ReadonlyMap<ClusterName, ClusterClient>): InstanceReport['clusterIds'] {
  const [cluster0, cluster1] = [clusters.get('cluster0'), clusters.get('cluster1')];
  return cluster0 === undefined || cluster1 === undefined
    ? null
    : { cluster0: cluster0.clusterId, cluster1: cluster1.clusterId };
}

/**
 * All instances of a migration must use the same two clusters. The live instances that are already started define them.
 * @throws ConvoyError `wrongCluster` that names an instance with other clusters
 */
export function refuseOtherClusters(own: InstanceReport['clusterIds'], reports: ReadonlyMap<string, SeenReport>): void {
  for (const { report, fresh } of reports.values()) {
    const { clusterIds, identity, optionsDigest } = report;
    if (!fresh || optionsDigest === null || clusterIds === null || own === null) continue;
    if (clusterIds.cluster0 === own.cluster0 && clusterIds.cluster1 === own.cluster1) continue;
    throw new ConvoyError(
      'wrongCluster',
      `This instance is configured with other clusters than ${identity.id}, which was started already; ` +
        'give all the same cluster0 and cluster1.',
    );
  }
}
