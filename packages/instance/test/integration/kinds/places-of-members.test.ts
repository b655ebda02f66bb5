import { type Document, MongoClient, type UUID } from 'mongodb';
import { expect, it } from 'vitest';
import { startLocalCluster } from '@convoy/testbed/cluster/local-cluster';
import { serversFor } from '@convoy/testbed/cluster/server-version';
import { currentTime } from '../../../src/cluster/cluster-time.js';
import { codeOf } from '../../../src/cluster/failure.js';
import type { CallOptions, NodeClient, RawCursor } from '../../../src/cluster/node-client.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { copyInRecordOrder } from '../../../src/copy/copy-in-record-order.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { copyDeps, stillClock } from '../../unit/copy/copy-fixture.js';
import { collectionOf } from '../../unit/model/parts.js';
import { routedStream } from '../../unit/model/routed-stream.js';
import { ClientProxy } from '../verify/client-proxy.js';

const testLimit_ms = 180_000;
/** Several batches of a megabyte. */
const documents = 400;
const documentBytes = 10_000;
/** A member that has stepped down does not lead again before the test ends. */
const stepsDownFor_s = 600;
const sets = await serversFor('8.0', 'source');

/** Lets another member lead right before the first place is sent. */
class ElectsBefore extends ClientProxy {
  /** The codes with which the servers refused a place. */
  readonly refusals: unknown[] = [];
  #elected = false;

  constructor(
    private readonly set: NodeClient,
    private readonly elect: () => Promise<void>,
  ) {
    super(set);
  }

  override async openCursor(database: string, command: Document, options: CallOptions): Promise<RawCursor> {
    if (command['$_resumeAfter'] === undefined) return this.set.openCursor(database, command, options);
    if (!this.#elected) {
      this.#elected = true;
      await this.elect();
    }
    return this.set.openCursor(database, command, options).catch((error: unknown) => {
      this.refusals.push(codeOf(error));
      throw error;
    });
  }
}

it.skipIf(sets.kind === 'simulator')(
  'a place in a collection that another member has given is refused, and the scan begins again ' +
    '(real servers from 8.0, three members)',
  { timeout: testLimit_ms },
  async () => {
    const signal = AbortSignal.timeout(testLimit_ms);
    const servers = await startLocalCluster({ side: 'source', topology: 'replicaSet', members: 3, release: '8.0' });
    const cluster = await openCluster('cluster0', servers.connectionString, { direct: true, signal });
    try {
      await using user = new MongoClient(servers.connectionString);
      const leader = async () => (await user.db('admin').command({ hello: 1 }))['primary'] as string | undefined;
      const elect = async (): Promise<void> => {
        const former = await leader();
        await user
          .db('admin')
          .command({ replSetStepDown: stepsDownFor_s, secondaryCatchUpPeriodSecs: 30 })
          .catch(() => undefined);
        const isOther = async (): Promise<boolean> => {
          const { isWritablePrimary, me } = await cluster.router.command('admin', { hello: 1 }, { signal });
          return isWritablePrimary === true && me !== former;
        };
        await expect.poll(() => isOther().catch(() => false), { timeout: testLimit_ms / 3 }).toBe(true);
      };
      const orders = user.db('shop').collection<{ _id: number; text: string }>('orders');
      const text = 'x'.repeat(documentBytes);
      await orders.insertMany(
        Array.from({ length: documents }, (_, _id) => ({ _id, text })),
        { writeConcern: { w: 3 } },
      );
      // Those that have come by an initial sync name it in their places: all but the first.
      await elect();

      const listed = await user.db('shop').listCollections<{ name: string; info: { uuid: UUID } }>().toArray();
      const uuid = listed[0]?.info.uuid.toHexString(false) ?? '';
      const collection = collectionOf({ database: 'shop', name: 'orders', uuid, documentBytes });
      const save = (): Promise<void> => Promise.resolve();
      const table = PartitionTable.fresh(collection, [], save, undefined, { order: 'natural', reason: 'requested' });
      const [partition] = table.partitions;
      if (partition === undefined) throw new Error('a table has a partition');
      const shard = new ElectsBefore(cluster.router, elect);
      let position = 0n;
      const written = new Set<unknown>();
      const deps = copyDeps({
        shard,
        clock: stillClock,
        // Every batch is a piece.
        partition_seconds: 0,
        write: ({ statements }) => {
          for (const statement of statements) written.add(statement);
          return Promise.resolve({ n: statements.length, nModified: 0, upserted: 0, failures: [] });
        },
        stream: {
          ...routedStream({
            untilNear: async () => {
              position = await currentTime(cluster.router, { signal });
            },
          }),
          get position() {
            return position;
          },
        },
      });
      await copyInRecordOrder({ table, partition, deps, stop: signal, hard: signal });
      expect(shard.refusals).toEqual([8_132_701]);
      expect([partition.state, table.order]).toEqual(['done', { order: 'natural', reason: 'requested' }]);
      expect(written.size).toBeGreaterThanOrEqual(documents);
    } finally {
      await cluster.close();
      await servers.close();
    }
  },
);
