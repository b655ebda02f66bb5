import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, startWholeCluster } from '@convoy/simulator/internal/cluster/cluster';
import type { ReleaseSeries } from '@convoy/simulator';
import { Side } from '../contract/fixture.js';

const shape = { shards: 2 } as const;
/** Servers upgrade the config server first, then the shards, and routers last (manual: upgrade a sharded cluster). */
const order = ['config', 'shard0', 'shard1', 'router0'] as const;
/** Errors that clients see while nodes restart. */
const between_ms = 20;

/** A simulated cluster whose nodes are upgraded one after the other. */
export class UpgradedSide {
  private constructor(
    private readonly cluster: Cluster,
    readonly side: Side,
  ) {}

  static async start(version: ReleaseSeries): Promise<UpgradedSide> {
    const cluster = await startWholeCluster({ ...shape, version, noopIntervalMs: 100 });
    return new UpgradedSide(cluster, await Side.around(cluster.connectionString, shape, () => cluster.close()));
  }

  /** Restarts every node with another release. @param meanwhile after each node */
  async upgrade(
    to: ReleaseSeries,
    meanwhile: (node: string) => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    for (const node of order) {
      await this.cluster.node(node).upgrade(to);
      await delay(between_ms);
      await meanwhile(node);
    }
  }

  /** Lets all nodes use the features of their release. */
  async raiseFeatures(to: ReleaseSeries): Promise<void> {
    const confirm = to >= '7.0' ? { confirm: true } : {};
    await this.side.client.db('admin').command({ setFeatureCompatibilityVersion: to, ...confirm });
  }
}
