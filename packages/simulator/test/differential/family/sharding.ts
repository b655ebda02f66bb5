import type { Json } from '../../conformance/corpus-file.js';
import type { Command, Family } from '../case.js';
import type { Random } from '../random.js';
import type { Fields } from '../values.js';

const db = 'diff_sharding';
const collections = ['c', 'd'] as const;
const nodes = ['router', 'router1'] as const;

/** Sharded collections: made, split, moved, zoned, and read and written through two routers. */
export const sharding: Family = {
  name: 'sharding',
  fixture: [{ on: 'router', db: 'admin', command: { balancerStop: 1 } }],
  reset: [
    { on: 'router', db, command: { dropDatabase: 1 } },
    admin({ enableSharding: db, primaryShard: 'shard0' }),
    // Zones outlive their database, and a collection that is not there can be dropped with its zones.
    ...['c', 'd', 'e'].map((name) => ({
      on: 'router' as const,
      db,
      command: { drop: name },
      onlyAfter: ['updateZoneKeyRange'],
    })),
    ...['shard0', 'shard1'].map((shard) => ({
      ...admin({ removeShardFromZone: shard, zone: 'z' }),
      onlyAfter: ['addShardToZone'],
    })),
    ...nodes.map((node) => admin({ flushRouterConfig: 1 }, node)),
  ],
  commands(random) {
    const begun = random.chance(0.8) ? [sharded(random, 'c')] : [];
    return [...begun, ...random.list(8, 14, () => command(random)), ...collections.flatMap(layoutOf)];
  },
};

function admin(command: Json, on: Command['on'] = 'router'): Command {
  return { on, db: 'admin', command };
}

function ask(random: Random, command: Json): Command {
  return { on: random.pick(nodes), db, command };
}

/** The chunks of a collection with their owners and versions, and the zones. */
function layoutOf(name: string): Command[] {
  const ns = `${db}.${name}`;
  const joined = [
    { $match: { _id: ns } },
    { $lookup: { from: 'chunks', localField: 'uuid', foreignField: 'uuid', as: 'chunk' } },
    { $unwind: '$chunk' },
    { $sort: { 'chunk.min': 1 } },
    {
      $project: {
        _id: 0,
        key: 1,
        unique: 1,
        defaultCollation: 1,
        min: '$chunk.min',
        max: '$chunk.max',
        shard: '$chunk.shard',
        version: '$chunk.lastmod',
      },
    },
  ];
  return [
    { on: 'router', db: 'config', command: { aggregate: 'collections', pipeline: joined, cursor: {} } },
    { on: 'router', db: 'config', command: { find: 'tags', filter: { ns }, sort: { min: 1 }, projection: { _id: 0 } } },
    { on: 'router', db, command: { listIndexes: name } },
    ...(['router', 'shard0', 'shard1'] as const).map((on): Command => ({
      on,
      db,
      command: { find: name, sort: { k: 1, _id: 1 } },
    })),
  ];
}

function sharded(random: Random, name: string = random.pick(collections)): Command {
  const key = random.weighted<Fields>([
    [4, () => ({ k: 1 })],
    [2, () => ({ _id: 1 })],
    [2, () => ({ k: 'hashed' })],
    [2, () => ({ k: 1, _id: 1 })],
    [1, () => ({ k: 1, h: 'hashed' })],
    [0.3, () => ({ k: -1 })],
    [0.2, () => ({})],
    [0.2, () => ({ k: 'x' })],
  ]);
  return admin(
    {
      shardCollection: `${db}.${name}`,
      key,
      ...(random.chance(0.15) && { unique: random.chance(0.7) }),
      ...(random.chance(0.1) && { collation: { locale: random.pick(['simple', 'en']) } }),
      ...(random.chance(0.1) && { numInitialChunks: random.int(1, 5) }),
    },
    random.pick(nodes),
  );
}

function point(random: Random): Json {
  return random.weighted<Json>([
    [6, () => random.int(-3, 6)],
    [1, () => ({ $minKey: 1 })],
    [1, () => ({ $maxKey: 1 })],
    [0.5, () => 'x'],
  ]);
}

function key(random: Random): Fields {
  return random.weighted<Fields>([
    [5, () => ({ k: point(random) })],
    [2, () => ({ _id: point(random) })],
    [2, () => ({ k: point(random), _id: point(random) })],
  ]);
}

function document(random: Random): Fields {
  return {
    _id: random.int(0, 9),
    ...(random.chance(0.9) && {
      k: random.weighted<Json>([
        [8, () => random.int(-3, 6)],
        [1, () => null],
        [0.5, () => [1, 2]],
        [0.5, () => ({ $maxKey: 1 })],
      ]),
    }),
    a: random.int(0, 2),
  };
}

function query(random: Random): Fields {
  return random.weighted<Fields>([
    [3, () => ({ k: random.int(-3, 6) })],
    [2, () => ({ _id: random.int(0, 9) })],
    [2, () => ({ k: random.int(-3, 6), _id: random.int(0, 9) })],
    [2, () => ({ k: { $gte: random.int(-3, 6) } })],
    [1, () => ({})],
    [1, () => ({ a: random.int(0, 2) })],
  ]);
}

function command(random: Random): Command {
  const name = random.pick(['c', 'c', 'd']);
  const ns = `${db}.${name}`;
  const on = random.pick(nodes);
  return random.weighted<Command>([
    [2, () => sharded(random)],
    [
      4,
      () =>
        admin(
          {
            split: ns,
            ...random.weighted<Fields>([
              [4, () => ({ middle: key(random) })],
              [1, () => ({ find: key(random) })],
              [1, () => ({ bounds: [key(random), key(random)] })],
              [0.2, () => ({})],
            ]),
          },
          on,
        ),
    ],
    [
      4,
      () =>
        admin(
          {
            moveChunk: ns,
            ...random.weighted<Fields>([
              [4, () => ({ find: key(random) })],
              [1, () => ({ bounds: [key(random), key(random)] })],
            ]),
            to: random.pick(['shard0', 'shard1', 'shard1', 'shard9']),
            _waitForDelete: true,
          },
          on,
        ),
    ],
    [2, () => admin({ mergeChunks: ns, bounds: [key(random), key(random)] }, on)],
    [
      1,
      () =>
        admin({ updateZoneKeyRange: ns, min: key(random), max: key(random), zone: random.pick(['z', 'z', null]) }, on),
    ],
    [
      1,
      () =>
        admin(
          {
            [random.pick(['addShardToZone', 'removeShardFromZone'])]: random.pick(['shard0', 'shard1', 'shard9']),
            zone: 'z',
          },
          on,
        ),
    ],
    [0.7, () => admin({ movePrimary: db, to: random.pick(['shard0', 'shard1', 'shard9']) }, on)],
    [
      0.7,
      () =>
        admin(
          { refineCollectionShardKey: ns, key: random.pick<Fields>([{ k: 1, a: 1 }, { k: 1, _id: 1 }, { a: 1 }]) },
          on,
        ),
    ],
    [
      5,
      () =>
        ask(random, {
          insert: name,
          documents: random.list(1, 3, () => document(random)),
          ordered: random.chance(0.6),
        }),
    ],
    [4, () => ask(random, { update: name, updates: [update(random)] })],
    [3, () => ask(random, { delete: name, deletes: [{ q: query(random), limit: random.pick([0, 1]) }] })],
    [
      2,
      () =>
        ask(random, {
          findAndModify: name,
          query: query(random),
          ...random.pick<Fields>([
            { remove: true },
            { update: { $set: { a: 9 } }, new: true },
            { update: { $set: { a: 8 } }, upsert: true },
          ]),
        }),
    ],
    [4, () => ask(random, { find: name, filter: query(random), sort: { k: 1, _id: 1 } })],
    [1, () => ask(random, { count: name, query: query(random) })],
    [
      1,
      () =>
        ask(random, {
          aggregate: name,
          pipeline: [{ $match: query(random) }, { $sort: { k: 1, _id: 1 } }],
          cursor: {},
        }),
    ],
    [
      2,
      () =>
        ask(random, {
          createIndexes: name,
          indexes: [
            random.pick<Fields>([
              { key: { k: 1 }, name: 'k_1' },
              { key: { k: 1, a: 1 }, name: 'k_1_a_1' },
              { key: { a: 1 }, name: 'a_1', unique: true },
              { key: { a: 1, _id: 1 }, name: 'ai' },
            ]),
          ],
        }),
    ],
    [0.5, () => ask(random, { dropIndexes: name, index: random.pick(['k_1', 'k_1_a_1', 'a_1', '*', 'k_hashed']) })],
    [0.5, () => ask(random, { collMod: name, validationLevel: 'moderate' })],
    [1, () => ask(random, { drop: name })],
    [
      0.5,
      () =>
        admin(
          { renameCollection: ns, to: `${db}.${random.pick(['c', 'd', 'e'])}`, dropTarget: random.chance(0.5) },
          on,
        ),
    ],
    [0.5, () => ask(random, { create: name })],
    [0.5, () => admin({ clearJumboFlag: ns, find: key(random) }, on)],
    [0.5, () => admin({ balancerCollectionStatus: ns }, on)],
    [0.5, () => admin({ flushRouterConfig: 1 }, on)],
    [0.3, () => admin({ enableSharding: db, primaryShard: random.pick(['shard0', 'shard1']) }, on)],
  ]);
}

function update(random: Random): Fields {
  const q = query(random);
  return random.weighted<Fields>([
    [3, () => ({ q, u: { $inc: { a: 1 } }, multi: random.chance(0.4) })],
    [2, () => ({ q, u: { ...document(random) }, upsert: random.chance(0.4) })],
    [2, () => ({ q, u: { $set: { a: 5 } }, upsert: random.chance(0.6) })],
    [1, () => ({ q, u: { $set: { k: random.int(-3, 6) } } })],
    [1, () => ({ q, u: [{ $set: { a: '$k' } }], multi: random.chance(0.3) })],
  ]);
}
