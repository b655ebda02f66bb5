import { startLocalCluster } from '@convoy/testbed/cluster/local-cluster';
import type { ReleaseSeries } from '@convoy/simulator';
import type { Document } from 'mongodb';
import { expect } from 'vitest';
import type { ClusterClient } from '../../../src/cluster/node-client.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';

/** Longest wait of one test; then every call of it ends. */
const testLimit_ms = 60_000;

/** A cluster of two shards with a collection `db.coll` sharded by `{sk: 1}` and split at 0. */
export class SplitCluster implements AsyncDisposable {
  readonly signal = AbortSignal.timeout(testLimit_ms);

  private constructor(
    readonly cluster: ClusterClient,
    readonly connectionString: string,
    private readonly stop: () => Promise<void>,
  ) {}

  /** @param options `tick_ms` is the interval at which idle shards write an entry */
  static async start(options: {
    direct: boolean;
    routers?: number;
    tick_ms?: number;
    release?: ReleaseSeries;
  }): Promise<SplitCluster> {
    const local = await startLocalCluster({
      topology: { shards: 2 },
      routers: options.routers ?? 1,
      ...(options.release !== undefined && { release: options.release }),
      noopInterval_ms: options.tick_ms ?? 50,
      ...(options.release !== undefined && { release: options.release }),
    });
    const signal = AbortSignal.timeout(testLimit_ms);
    const cluster = await openCluster('cluster0', local.connectionString, { direct: options.direct, signal });
    const started = new SplitCluster(cluster, local.connectionString, () => local.close());
    await started.shard();
    return started;
  }

  admin(command: Document): Promise<Document> {
    return this.cluster.router.command('admin', command, { signal: this.signal });
  }

  async insert(...documents: Document[]): Promise<void> {
    await this.#write({ insert: 'coll', documents });
  }

  /** Adds fields to a document. */
  async extend(document: Document, fields: Document): Promise<void> {
    const q = { _id: document['_id'] as unknown, sk: document['sk'] as unknown };
    await this.#write({ update: 'coll', updates: [{ q, u: { $set: fields } }] });
  }

  /** A reply may be a success although it refuses statements. */
  async #write(command: Document): Promise<void> {
    const reply = await this.cluster.router.command(
      'db',
      { ...command, writeConcern: { w: 'majority' } },
      { signal: this.signal },
    );
    const { writeErrors = [], n } = reply as { writeErrors?: Document[]; n: number };
    expect(writeErrors.map(({ code }) => code as unknown)).toEqual([]);
    expect(n).toBeGreaterThan(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster.close();
    await this.stop();
  }

  private async shard(): Promise<void> {
    await this.admin({ enableSharding: 'db', primaryShard: 'shard0' });
    await this.admin({ shardCollection: 'db.coll', key: { sk: 1 } });
    await this.admin({ split: 'db.coll', middle: { sk: 0 } });
    await this.admin({ moveChunk: 'db.coll', find: { sk: 1 }, to: 'shard1', _waitForDelete: true });
  }
}
