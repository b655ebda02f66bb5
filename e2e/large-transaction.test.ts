import { expect, test } from 'vitest';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from './fleet.js';
import { isFullRun, needs } from './requirements.js';

/** More than one oplog entry, write batch and memory bound of an instance. */
const operations = isFullRun ? 121_000 : 12_000;
const perCommand = 1_000;
const kills = isFullRun ? 4 : 2;

interface Row {
  _id: number;
  text: string;
}

test(
  `a transaction of ${operations} operations arrives whole, although the instance is killed within it again and again`,
  needs({ version: [5, 0] }),
  async () => {
    await using clusters = await Clusters.little({ source: 'replicaSet', destination: 'replicaSet' });
    const { source, destination } = clusters.clients;
    await using instance = await clusters.startLoneInstance({ memoryBytesMax: 100_663_296 });
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);

    const rows = source.db('shop').collection<Row>('rows');
    await rows.insertOne({ _id: -1, text: 'before' });
    await source.withSession((session) =>
      session.withTransaction(async () => {
        for (let first = 0; first < operations; first += perCommand) {
          const text = 'x'.repeat(40);
          const some = Array.from({ length: perCommand }, (_, n): Row => ({ _id: first + n, text }));
          await rows.insertMany(some, { session });
        }
      }),
    );
    for (let kill = 0; kill < kills; kill += 1) {
      await instance.kill();
      await instance.restart();
      await untilProgress(instance.client, 'it runs again', ({ state }) => state === 'RUNNING');
    }
    await clusters.cutOver(instance.client);
    expect(await destination.db('shop').collection('rows').countDocuments()).toBe(operations + 1);
  },
);
