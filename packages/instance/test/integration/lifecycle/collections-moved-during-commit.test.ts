import type { Document, UUID } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { backendVersion } from '@convoy/testbed/cluster/server-version';
import { serversOf } from '@convoy/testbed/cluster/servers-of';
import type { LeaderStep } from '../../../src/lifecycle/migration/steps.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';
import { EmbeddedMigration, patience } from '../verify/embedded-migration.js';

const count = 60;
const [release] = await backendVersion(undefined, 'source');

/** How the source is read, and whether its balancer is kept. */
const ways = [
  ['router', true],
  ['router', false],
  ['direct', false],
] as const;

const moveCollection = { moveCollection: 'shop.plain', toShard: 'shard1' };
const moveExpiring = { moveCollection: 'shop.expiring', toShard: 'shard1' };
const moveDatabase = { movePrimary: 'store', to: 'shard1' };
const moveShardedDatabase = { movePrimary: 'shop', to: 'shard1' };
const toTheSameKey = {
  reshardCollection: 'shop.sharded',
  key: { n: 1 },
  forceRedistribution: true,
  numInitialChunks: 2,
};
const toAnotherKey = { reshardCollection: 'shop.sharded', key: { n: 1, _id: 1 }, numInitialChunks: 2 };
const unshard = { unshardCollection: 'shop.sharded', toShard: 'shard1' };

async function opened(sourceAccess: 'router' | 'direct'): Promise<EmbeddedMigration> {
  const migration = await EmbeddedMigration.open({ sourceAccess });
  const { source } = migration;
  await migration.moveQuickly();
  const admin = source.db('admin');
  for (const database of ['shop', 'store']) await admin.command({ enableSharding: database, primaryShard: 'shard0' });
  await source.db('shop').createCollection('sharded');
  await admin.command({ shardCollection: 'shop.sharded', key: { n: 1 } });
  await admin.command({ split: 'shop.sharded', middle: { n: count / 2 } });
  for (const [database, name] of [
    ['shop', 'plain'],
    ['shop', 'expiring'],
    ['shop', 'sharded'],
    ['store', 'things'],
  ] as const)
    await source
      .db(database)
      .collection<{ _id: number; n: number }>(name)
      .insertMany(Array.from({ length: count }, (_, n) => ({ _id: n, n })));
  await source
    .db('shop')
    .collection('expiring')
    .createIndexes([{ key: { at: 1 }, expireAfterSeconds: 100_000 }]);
  await source
    .db('shop')
    .collection('sharded')
    .createIndexes([{ key: { n: 1, _id: 1 } }]);
  await source
    .db('store')
    .collection('things')
    .createIndexes([{ key: { n: -1 } }]);
  return migration;
}

/** @returns how a commit ends during which something is done after a step of the leader */
async function ending(
  migration: EmbeddedMigration,
  step: LeaderStep,
  commands: readonly Document[],
  keepBalancer: boolean,
): Promise<string> {
  let acted: unknown = 'nothing happened';
  migration.after(step, async () => {
    try {
      for (const command of commands) await migration.source.db('admin').command(command);
      acted = null;
    } catch (error) {
      acted = error;
    }
  });
  await migration.start(keepBalancer ? { keepBalancer } : {});
  const end = await migration.end();
  expect(acted).toBeNull();
  return end;
}

async function expectEqual({ source, destination }: EmbeddedMigration): Promise<void> {
  const sides = { cluster0: { client: source }, cluster1: { client: destination } };
  for (const database of ['shop', 'store']) await expectEqualDatabases(sides, database);
}

describe.skipIf(release < 8)(
  'what servers move by themselves during a commit (servers from 8.0)',
  { timeout: patience.timeout * 2 },
  () => {
    it.each(ways)('is followed after the commit time is sealed: access %s, keepBalancer %s', async (access, keeps) => {
      await using migration = await opened(access);
      const moves = [moveCollection, moveExpiring, toTheSameKey, moveDatabase, moveShardedDatabase];
      expect(await ending(migration, 'commitSealed', moves, keeps)).toBe('COMMITTED');
      await expectEqual(migration);
    });

    it.skipIf(serversOf('source').kind === 'simulator')(
      'is followed if the balancer moves it after the commit time is sealed (real servers)',
      async () => {
        await using migration = await opened('router');
        const { source } = migration;
        await using config = await migration.serverOfSource('config');
        const uuidOf = async (name: string) => {
          const listed = await source
            .db('shop')
            .listCollections<{ name: string; info: { uuid?: UUID } }>({ name }, { nameOnly: false })
            .toArray();
          return listed.map(({ info }) => String(info.uuid)).join();
        };
        const uuids = async () => [await uuidOf('plain'), await uuidOf('expiring')];
        const before = await uuids();
        // Servers of 8.0 balance unsharded collections only so.
        const balancing = { configureFailPoint: 'balancerShouldReturnRandomMigrations' };
        await config.db('admin').command({ setParameter: 1, balancerMigrationsThrottlingMs: 0 });
        let acted: unknown = 'nothing happened';
        migration.after('commitSealed', async () => {
          try {
            await config.db('admin').command({ ...balancing, mode: 'alwaysOn' });
            await source.db('admin').command({ balancerStart: 1 });
            await expect.poll(uuids, patience).not.toEqual(before);
            acted = null;
          } catch (error) {
            acted = error;
          }
        });
        await migration.start({ keepBalancer: true });
        const end = await migration.end();
        expect(acted).toBeNull();
        expect(end).toBe('COMMITTED');
        await config.db('admin').command({ ...balancing, mode: 'off' });
        await source.db('admin').command({ balancerStop: 1 });
        await expectEqual(migration);
      },
    );

    it.each(ways)('is followed before it is sealed: access %s, keepBalancer %s', async (access, keeps) => {
      await using migration = await opened(access);
      const moves = [moveCollection, moveExpiring, moveDatabase];
      expect(await ending(migration, 'commitTimeTaken', moves, keeps)).toBe('COMMITTED');
      await expectEqual(migration);
    });

    it.each([
      ['another key', toAnotherKey, 'router', true],
      ['the same key', toTheSameKey, 'direct', false],
      ['no key', unshard, 'router', false],
    ] as const)('ends by name or is followed before it is sealed: %s', async (_what, command, access, keeps) => {
      await using migration = await opened(access);
      const end = await ending(migration, 'commitTimeTaken', [command], keeps);
      // Either the stream shows the resharding first, or the catalog shows a new collection.
      if (end === 'COMMITTED') await expectEqual(migration);
      else {
        expect(end).toBe('shardKeyChanged');
        expect(await migration.failure()).toContain('shop.sharded');
      }
    });

    it.each([
      ['another key', toAnotherKey, 'direct', false],
      ['no key', unshard, 'router', true],
    ] as const)('ends by name after it is sealed: %s', async (_what, command, access, keeps) => {
      await using migration = await opened(access);
      expect(await ending(migration, 'commitSealed', [command], keeps)).toBe('shardKeyChanged');
      expect(await migration.failure()).toContain('shop.sharded');
    });

    it.each([
      ['writes to it', { insert: 'plain', documents: [{ _id: count, n: count }] }, 'router', false],
      ['drops another', { drop: 'expiring' }, 'direct', false],
      ['empties another', { drop: 'expiring' }, 'router', true],
    ] as const)('hides nothing that a user does meanwhile: %s', async (what, command, access, keepBalancer) => {
      await using migration = await opened(access);
      migration.after('verifiedAgain', async () => {
        const { source } = migration;
        await source.db('admin').command(moveCollection);
        await source.db('shop').command(command);
        if (what === 'empties another') {
          await source.db('shop').createCollection('expiring');
          await source
            .db('shop')
            .collection('expiring')
            .createIndexes([{ key: { at: 1 }, expireAfterSeconds: 100_000 }]);
        }
      });
      await migration.start(keepBalancer ? { keepBalancer } : {});
      expect(await migration.end()).toBe('sourceWritesAfterCommit');
    });
  },
);
