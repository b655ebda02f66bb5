import type { Json } from '../../conformance/corpus-file.js';
import type { Command, Family } from '../case.js';
import type { Random } from '../random.js';
import type { Fields } from '../values.js';

const db = 'diff_ddl';
const collections = ['c', 'd', 'e'] as const;

/** Collections, views and indexes: made, changed, renamed, dropped and listed. */
export const ddl: Family = {
  name: 'ddl',
  fixture: [],
  reset: [
    { on: 'router', db, command: { dropDatabase: 1 } },
    { on: 'router', db: 'admin', command: { enableSharding: db, primaryShard: 'shard0' } },
  ],
  commands: (random) => [
    ask(created(random)),
    ...random.list(6, 12, () => definition(random)).flat(),
    listed(),
    ...collections.map((name) => ask({ listIndexes: name })),
  ],
};

function ask(command: Json): Command {
  return { on: 'router', db, command };
}

function admin(command: Json): Command {
  return { on: 'router', db: 'admin', command };
}

function listed(filter: Fields = {}): Command {
  return { on: 'router', db, command: { listCollections: 1, filter }, unordered: true };
}

/** A database that is dropped is made again where it was: otherwise the shard is the server's choice. */
function definition(random: Random): Command[] {
  if (random.chance(0.01)) return [ask({ dropDatabase: 1 }), admin({ enableSharding: db, primaryShard: 'shard0' })];
  return [change(random)];
}

function change(random: Random): Command {
  const name = random.pick(collections);
  return random.weighted<Command>([
    [3, () => ask(created(random))],
    [5, () => ask({ createIndexes: name, indexes: random.list(1, random.chance(0.2) ? 2 : 1, () => index(random)) })],
    [
      2,
      () =>
        ask({
          dropIndexes: name,
          index: random.pick<Json>(['*', 'a_1', 'b_1', '_id_', 'none', { a: 1 }, { b: 1 }, ['a_1', 'b_1'], 'i']),
        }),
    ],
    [3, () => ask({ collMod: name, ...changed(random) })],
    [2, () => ask({ drop: name })],
    [
      2,
      () =>
        admin({
          renameCollection: `${db}.${name}`,
          to: `${db}.${random.pick([...collections, 'f'])}`,
          ...(random.chance(0.4) && { dropTarget: true }),
        }),
    ],
    [
      2,
      () =>
        ask({
          insert: name,
          documents: random.list(1, 2, () => ({
            _id: random.int(0, 5),
            a: random.int(0, 2),
            b: random.pick<Json>([1, [1, 2], 'x', null]),
          })),
        }),
    ],
    [2, () => ask({ find: name, sort: { _id: 1 } })],
    [1, () => ask({ count: name })],
    [0.7, () => ask({ convertToCapped: name, size: 8192 })],
    [1, () => listed(random.pick<Fields>([{}, { name }, { type: 'view' }, { 'options.capped': true }]))],
    [1, () => ask({ listIndexes: name })],
    [0.5, () => ask({ drop: 'f' })],
    [0.5, () => ({ on: random.pick(['shard0', 'shard1'] as const), db, command: { listIndexes: name } })],
  ]);
}

function created(random: Random): Fields {
  const create = random.pick(collections);
  return {
    create,
    ...random.weighted<Fields>([
      [5, () => ({})],
      [
        1,
        () => ({
          capped: true,
          size: random.pick([4096, 1000, 100_000]),
          ...(random.chance(0.5) && { max: random.int(1, 9) }),
        }),
      ],
      [1, () => ({ capped: random.chance(0.5) })],
      [1, () => ({ collation: collation(random) })],
      [1, () => validation(random)],
      [2, () => ({ viewOn: random.pick(collections), pipeline: [{ $match: { a: random.int(0, 2) } }] })],
      [0.3, () => ({ viewOn: random.pick(collections) })],
      [0.3, () => ({ pipeline: [] })],
      [
        0.3,
        () => ({
          idIndex: { key: { _id: 1 }, name: '_id_', ...(random.chance(0.5) && { collation: collation(random) }) },
        }),
      ],
      [0.3, () => ({ unknown: 1 })],
    ]),
  };
}

function collation(random: Random): Json {
  return random.pick<Json>([
    { locale: 'en' },
    { locale: 'fr', strength: 2 },
    { locale: 'simple' },
    { locale: 'de', caseLevel: true },
    {},
    { locale: 'xx' },
  ]);
}

function validation(random: Random): Fields {
  return {
    validator: random.pick<Json>([{ a: { $gt: 0 } }, { $jsonSchema: { required: ['a'] } }, {}, { a: { $foo: 1 } }]),
    ...(random.chance(0.4) && { validationLevel: random.pick(['off', 'strict', 'moderate', 'x']) }),
    ...(random.chance(0.4) && { validationAction: random.pick(['warn', 'error', 'x']) }),
  };
}

function index(random: Random): Fields {
  const key = random.weighted<Fields>([
    [4, () => ({ a: 1 })],
    [3, () => ({ b: 1 })],
    [1, () => ({ a: -1 })],
    [1, () => ({ a: 1, b: -1 })],
    [1, () => ({ a: 'hashed' })],
    [0.5, () => ({ 'a.x': 1 })],
    [0.3, () => ({ a: 0 })],
    [0.3, () => ({ a: 'x' })],
    [0.3, () => ({ '$**': 1 })],
    [0.3, () => ({ _id: 1 })],
    [0.2, () => ({})],
    [0.2, () => ({ a: 'text' })],
    [0.2, () => ({ _id: -1 })],
  ]);
  const name = Object.entries(key)
    .map(([field, order]) => `${field}_${JSON.stringify(order).replaceAll('"', '')}`)
    .join('_');
  return {
    key,
    name: random.weighted<Json>([
      [8, () => name],
      [1, () => random.pick(['i', 'j'])],
      [0.2, () => '*'],
      [0.2, () => ''],
    ]),
    ...(random.chance(0.2) && { unique: random.chance(0.8) }),
    ...(random.chance(0.1) && { sparse: random.chance(0.8) }),
    ...(random.chance(0.15) && {
      expireAfterSeconds: random.pick<Json>([0, 3600, -1, { $numberDouble: '10.0' }, 'x']),
    }),
    ...(random.chance(0.1) && { hidden: random.chance(0.8) }),
    ...(random.chance(0.15) && {
      partialFilterExpression: random.pick<Json>([
        { a: { $gt: 1 } },
        { b: { $exists: true } },
        { a: { $ne: 1 } },
        { $text: { $search: 'x' } },
        { a: { $near: [1, 1] } },
        { a: { $foo: 1 } },
        1,
      ]),
    }),
    ...(random.chance(0.1) && { collation: collation(random) }),
    ...(random.chance(0.05) && { unknown: 1 }),
  };
}

function changed(random: Random): Fields {
  return random.weighted<Fields>([
    [
      3,
      () => ({
        index: {
          ...random.pick<Fields>([
            { name: 'a_1' },
            { keyPattern: { a: 1 } },
            { name: 'b_1' },
            { name: '_id_' },
            { name: 'none' },
            {},
          ]),
          ...indexChange(random),
        },
      }),
    ],
    [2, () => validation(random)],
    [1, () => ({ viewOn: random.pick(collections), pipeline: [{ $match: { a: 1 } }] })],
    [0.5, () => ({ pipeline: [] })],
    [0.5, () => ({})],
    [0.3, () => ({ unknown: 1 })],
  ]);
}

function indexChange(random: Random): Fields {
  return random.weighted<Fields>([
    [3, () => ({ hidden: random.chance(0.6) })],
    [2, () => ({ expireAfterSeconds: random.pick<Json>([10, 7200, -1, 'x']) })],
    [0.5, () => ({})],
    [0.5, () => ({ hidden: true, expireAfterSeconds: 10 })],
    [0.3, () => ({ unique: true })],
  ]);
}
