import { expect, it } from 'vitest';
import { expectEqualDatabases } from '../kinds/equal-databases.js';
import { EmbeddedMigration, patience } from '../verify/embedded-migration.js';

const count = 50;

async function opened(sourceAccess = 'router'): Promise<EmbeddedMigration> {
  const migration = await EmbeddedMigration.open({ sourceAccess });
  const admin = migration.source.db('admin');
  await admin.command({ enableSharding: 'shop', primaryShard: 'shard0' });
  await admin.command({ shardCollection: 'shop.sharded', key: { _id: 'hashed' } });
  for (const name of ['plain', 'expiring', 'sharded'])
    await migration.source
      .db('shop')
      .collection(name)
      .insertMany(Array.from({ length: count }, (_, n) => ({ n })));
  await migration.source
    .db('shop')
    .collection('expiring')
    .createIndexes([{ key: { at: 1 }, expireAfterSeconds: 100_000 }]);
  await migration.source.db('shop').createCollection('empty');
  await migration.source.db('shop').createCollection('some', { viewOn: 'plain', pipeline: [{ $match: { n: 1 } }] });
  return migration;
}

/** What happens on the source once the commit time is sealed. @returns how the commit ends */
async function ending(migration: EmbeddedMigration, act: () => Promise<unknown>, keepBalancer = true): Promise<string> {
  let acted: unknown = 'nothing happened';
  migration.after('commitSealed', () =>
    act().then(
      () => (acted = null),
      (error: unknown) => (acted = error),
    ),
  );
  await migration.start(keepBalancer ? { keepBalancer } : {});
  const end = await migration.end();
  expect(acted).toBeNull();
  return end;
}

it.each([
  ['router', true],
  ['router', false],
  ['direct', false],
] as const)(
  'a database that moves to another shard does not end the migration: access %s, keepBalancer %s',
  async (sourceAccess, keepBalancer) => {
    await using migration = await opened(sourceAccess);
    const admin = migration.source.db('admin');
    const move = () => admin.command({ movePrimary: 'shop', to: 'shard1' });
    expect(await ending(migration, move, keepBalancer)).toBe('COMMITTED');
    const sides = { cluster0: { client: migration.source }, cluster1: { client: migration.destination } };
    await expectEqualDatabases(sides, 'shop');
  },
  patience.timeout * 2,
);

it.each([
  ['drops a collection', (migration: EmbeddedMigration) => migration.source.db('shop').dropCollection('plain')],
  [
    'replaces a collection by $out',
    (migration: EmbeddedMigration) =>
      migration.source
        .db('shop')
        .collection('plain')
        .aggregate([{ $match: { n: 1 } }, { $out: 'plain' }])
        .toArray(),
  ],
  [
    'drops a collection and creates it again',
    async (migration: EmbeddedMigration) => {
      await migration.source.db('shop').dropCollection('plain');
      await migration.source.db('shop').createCollection('plain');
    },
  ],
  [
    'drops a sharded collection and shards it again',
    async (migration: EmbeddedMigration) => {
      await migration.source.db('shop').dropCollection('sharded');
      await migration.source.db('admin').command({ shardCollection: 'shop.sharded', key: { _id: 'hashed' } });
    },
  ],
])(
  'the commit fails when a user %s meanwhile, though the database moves too',
  async (_what, act) => {
    await using migration = await opened();
    const admin = migration.source.db('admin');
    const both = async (): Promise<void> => {
      await act(migration);
      await admin.command({ movePrimary: 'shop', to: 'shard1' });
    };
    expect(await ending(migration, both)).toBe('sourceWritesAfterCommit');
  },
  patience.timeout * 2,
);
