import { UUID } from 'bson';
import { describe, expect, it } from 'vitest';
import { failureOf, VersionedShard } from '../versioned-shard.js';

const another = new UUID();
const commands: [string, string, Record<string, unknown>][] = [
  ['find', 'db', { find: 'c' }],
  ['drop', 'db', { drop: 'c' }],
  ['renameCollection', 'admin', { renameCollection: 'db.c', to: 'db.d' }],
  ['dropIndexes', 'db', { dropIndexes: 'c', index: 'a_1' }],
  ['collMod', 'db', { collMod: 'c', validator: {} }],
  ['createIndexes', 'db', { createIndexes: 'c', indexes: [{ key: { b: 1 }, name: 'b_1' }] }],
];

describe.each(commands)('%s that says by collectionUUID which collection it means', (_name, db, command) => {
  it('is refused for another one under the name, since 6.0', async () => {
    using shard = new VersionedShard('7.0');
    await shard.run('db', { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a_1' }] });
    expect((await failureOf(shard.run(db, { ...command, collectionUUID: another }))).code).toBe(361);
    const meant = shard.shard.access.collection('db.c')?.uuid;
    await expect(shard.run(db, { ...command, collectionUUID: meant })).resolves.toBeDefined();
  });
});

it('createIndexes makes no collection in place of the one that it means', async () => {
  using shard = new VersionedShard('7.0');
  const command = { createIndexes: 'gone', indexes: [{ key: { a: 1 }, name: 'a_1' }], collectionUUID: another };
  expect((await failureOf(shard.run('db', command))).code).toBe(361);
  expect(shard.shard.access.collection('db.gone')).toBeUndefined();
});

it('find finds nothing in place of the one that it means, and before 6.0 does not know the field', async () => {
  using shard = new VersionedShard('6.0');
  expect((await failureOf(shard.run('db', { find: 'gone', collectionUUID: another }))).code).toBe(361);
  using older = new VersionedShard('5.0');
  expect((await failureOf(older.run('db', { find: 'gone', collectionUUID: another }))).code).toBe(40_415);
});
