import type { Json } from '../../conformance/corpus-file.js';
import type { Command, Family } from '../case.js';
import type { Random } from '../random.js';
import { fields, type Fields } from '../values.js';

/** Ids of a case's documents: on both sides of the bounds of `ranged`. */
export const idMin = -4;
export const idMax = 5;

/** How the collections of a family's database are stored. */
export type Layout = 'plain' | 'ranged' | 'hashed' | 'compound';

export const layouts: readonly Layout[] = ['plain', 'ranged', 'hashed', 'compound'];

const shardKeys: Readonly<Record<Exclude<Layout, 'plain'>, Fields>> = {
  ranged: { _id: 1 },
  hashed: { _id: 'hashed' },
  compound: { k: 1, _id: 1 },
};

/** One collection of each layout in a database of its own, on two shards where it is sharded. */
export function storedFixture(db: string): Command[] {
  const admin = (command: Json): Command => ({ on: 'router', db: 'admin', command });
  return [
    { on: 'router', db, command: { dropDatabase: 1 } },
    admin({ balancerStop: 1 }),
    admin({ enableSharding: db, primaryShard: 'shard0' }),
    ...Object.entries(shardKeys).map(([name, key]) => admin({ shardCollection: `${db}.${name}`, key })),
    admin({ split: `${db}.ranged`, middle: { _id: 0 } }),
    admin({ moveChunk: `${db}.ranged`, find: { _id: 0 }, to: 'shard1', _waitForDelete: true }),
    admin({ split: `${db}.compound`, middle: { k: 2, _id: { $minKey: 1 } } }),
    admin({ moveChunk: `${db}.compound`, find: { k: 2, _id: 0 }, to: 'shard1', _waitForDelete: true }),
    { on: 'router', db, command: { create: 'plain' } },
  ];
}

/** Empties the collections and takes their indexes away. */
export function storedReset(db: string): Command[] {
  return layouts.flatMap((collection) => [
    { on: 'router' as const, db, command: { delete: collection, deletes: [{ q: {}, limit: 0 }] } },
  ]);
}

/** The shard key's fields of a document, so that it can be targeted. */
export function keyFields(random: Random, layout: Layout): Fields {
  return layout === 'compound' ? { k: random.int(0, 3) } : {};
}

/** Between `from` and `to` documents with different ids. */
export function documents(
  random: Random,
  layout: Layout,
  from: number,
  to: number,
  make: (random: Random) => Fields = fields,
): Fields[] {
  const ids = Array.from({ length: idMax - idMin + 1 }, (_, index) => idMin + index);
  return random.some(ids, random.int(from, to)).map((_id) => ({ _id, ...keyFields(random, layout), ...make(random) }));
}

export function insert(db: string, collection: string, inserted: readonly Fields[]): Command {
  return { on: 'router', db, command: { insert: collection, documents: [...inserted] } };
}

/** What a collection holds: through the router, and on each shard. */
export function dump(db: string, collection: string): Command[] {
  const command = { find: collection, sort: { _id: 1, k: 1 } };
  return (['router', 'shard0', 'shard1'] as const).map((on) => ({ on, db, command }));
}

/** How a family asks about the documents of one collection of each case. */
interface Asking {
  readonly layouts: readonly (readonly [weight: number, layout: Layout])[];
  /** Between two numbers of documents, and of commands. */
  readonly documents: readonly [from: number, to: number];
  readonly commands: readonly [from: number, to: number];
  readonly make: (random: Random) => Fields;
  readonly ask: (random: Random, layout: Layout) => Json;
}

/** A family of commands to the router over documents of one collection of each case. */
export function askingAbout(
  name: string,
  { layouts: weighted, documents: stored, commands: asked, make, ask }: Asking,
): Family {
  const db = `diff_${name}`;
  return {
    name,
    fixture: storedFixture(db),
    reset: storedReset(db),
    commands(random) {
      const layout = random.weighted<Layout>(weighted.map(([weight, each]) => [weight, () => each]));
      const all = random.list(...asked, (): Command => ({ on: 'router', db, command: ask(random, layout) }));
      return [insert(db, layout, documents(random, layout, ...stored, make)), ...all];
    },
  };
}
