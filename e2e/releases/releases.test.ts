import type { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import type { ContractClient } from '@convoy/api/client/contract-client';
import { migratorCredentials } from '@convoy/testbed/cluster/access-control';
import { indexStates } from '../../packages/instance/test/integration/ddl/index-states.js';
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
      if (!canBlock) await buildIndex(source);
      await untilCanCommit(client);

      const late = await openTransaction(clusters.shoppers.source);
      await stopExpiry(clusters.destination);
      if (canBlock) await holdBuilds(clusters.source, 'alwaysOn');
      const building = canBlock ? await commitBesideBuild(client, source) : null;
      if (!canBlock) await untilTaken(() => client.commit());
      await untilProgress(client, 'COMMITTING', ({ state }) => state === 'COMMITTING');
      await late.commit();
      if (building !== null) expect(await building.ended).toBe(buildAborted);
      expect((await untilCommitted(client)).verification).not.toBeNull();
      await holdBuilds(clusters.source, 'off');
      await clusters.expectEqual();
      const copied = clusters.clients.destination.db(database);
      expect(await copied.collection('sessions').countDocuments({ late: true })).toBe(1);
      expect(await copied.collection('gaps').countDocuments({ sk: { $type: 'undefined' } })).toBe(2);
    },
  );
}

/** A build that is seen before the commit withdraws the offer: it is dropped, and begun again. */
const attemptsMax = 10;

/**
 * Begins an index build that is held, and takes the commit before the leader has noticed it.
 * @returns how the build ends
 */
async function commitBesideBuild(client: ContractClient, source: MongoClient): Promise<{ ended: Promise<unknown> }> {
  const built = source.db(database).collection('built');
  for (let attempt = 1; ; attempt += 1) {
    await untilCanCommit(client);
    const ended = buildIndex(source);
    await expect.poll(() => indexStates(built), { interval: 20 }).toHaveProperty('text_1', 'building');
    const answer = await client.commit().then(
      () => 'taken',
      (error: unknown) => (error as { error?: unknown }).error ?? error,
    );
    if (answer === 'taken') return { ended };
    expect([attempt < attemptsMax, answer]).toEqual([true, 'cannotCommit']);
    await built.dropIndex('text_1');
    await ended;
  }
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
