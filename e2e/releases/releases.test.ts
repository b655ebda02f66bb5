import type { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { migratorCredentials } from '@convoy/testbed/cluster/access-control';
import { sampled } from '../../test/seed.js';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilProgress, untilTaken } from '../fleet.js';
import { needs } from '../requirements.js';
import { refuseDirectReads, runDdl, changeDocuments, database, holdBuilds, loadSource, stopExpiry } from './source.js';

/** Users of 8.0 may read the shards only with a role; without it the source is read through its router. */
const variants = [
  { release: '5.0', access: 'direct' },
  { release: '6.0', access: 'direct' },
  { release: '7.0', access: 'direct' },
  { release: '8.0', access: 'direct' },
  { release: '8.0', access: 'router' },
] as const;

/** Slow, and in small partitions, so that a change hits the middle. */
const slowCopy = { partition_seconds: 1, loadRateBytesPerSecond: 1_000_000, catalogInterval_seconds: 1 };
const copiedBytes = 100_000;
/** What a server answers to an index build that a block has ended. */
const buildAborted = 276;

for (const { release, access } of sampled(variants)) {
  test(
    `one migration goes through what servers do in their own way: ${release}, access ${access} (servers of ${release})`,
    needs({ version: [5, 0], release }),
    async () => {
      await using clusters = await Clusters.start({
        source: { shards: 2 },
        destination: { shards: 2 },
        release,
        withUsers: true,
      });
      const { source } = clusters.clients;
      const canBlock = release !== '5.0';
      await stopExpiry(clusters.source);
      await loadSource(source, clusters.source);
      if (access === 'router') await refuseDirectReads(clusters.source);
      await using fleet = await clusters.startFleetHere({ ...slowCopy, shards: { cluster0: migratorCredentials } });
      const { client } = fleet.coordinator;

      await client.start({ ...defaultStart, enableUserWriteBlocking: canBlock });
      const copying = await untilProgress(
        client,
        'a part is copied',
        ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > copiedBytes,
      );
      expect(copying.info).toBe('collection copy');
      expect(copying.warnings?.some(({ name }) => name === 'sourceReadThroughRouter')).toBe(access === 'router');
      await source.db(database).collection('large').rename('largeRenamed');
      await untilCanCommit(client);
      await runDdl(source, clusters.source);
      await changeDocuments(source);
      await holdBuilds(clusters.source, 'alwaysOn');
      const building = buildIndex(source);
      if (!canBlock) await holdBuilds(clusters.source, 'off');
      if (!canBlock) await building;
      await untilCanCommit(client);

      const late = await openTransaction(clusters.shoppers.source);
      await stopExpiry(clusters.destination);
      await untilTaken(() => client.commit());
      await untilProgress(client, 'COMMITTING', ({ state }) => state === 'COMMITTING');
      await late.commit();
      if (canBlock) expect(await building).toBe(buildAborted);
      expect((await untilCommitted(client)).verification).not.toBeNull();
      await holdBuilds(clusters.source, 'off');
      await clusters.expectEqual();
      const copied = clusters.clients.destination.db(database);
      expect(await copied.collection('sessions').countDocuments({ late: true })).toBe(1);
      expect(await copied.collection('gaps').countDocuments({ sk: { $type: 'undefined' } })).toBe(2);
    },
  );
}

/** @returns once the index is built, 0, or the code of what has ended it */
function buildIndex(client: MongoClient): Promise<unknown> {
  const building = client
    .db(database)
    .command({ createIndexes: 'built', indexes: [{ key: { text: 1 }, name: 'text_1' }] });
  return building.then(
    () => 0,
    (error: unknown) => (error as { code?: unknown }).code,
  );
}

/** A user's transaction that has written and is still open. */
async function openTransaction(client: MongoClient): Promise<{ commit(): Promise<void> }> {
  const session = client.startSession();
  session.startTransaction();
  await client.db(database).collection('sessions').insertOne({ late: true }, { session });
  return {
    commit: async () => {
      await session.commitTransaction();
      await session.endSession();
    },
  };
}
