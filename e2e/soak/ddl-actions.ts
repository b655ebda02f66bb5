import type { Document } from 'mongodb';
import { database } from './source-collections.js';
import type { User } from './user.js';

/** Names of collections that come and go; the others of a history may be dropped and renamed too. */
export const passingCollections = ['d0', 'd1', 'd2'] as const;
/** A database that is created and dropped. */
const passingDatabase = 'side';

/** A DDL change. `n` is a number that decides the details. */
export interface DdlAction {
  readonly kind:
    | 'create'
    | 'drop'
    | 'rename'
    | 'dropDatabase'
    | 'createIndex'
    | 'dropIndex'
    | 'collMod'
    | 'view'
    | 'out'
    | 'convertToCapped'
    | 'shardCollection'
    | 'writeAside';
  readonly collection: string;
  readonly other: string;
  readonly n: number;
}

export const ddlKinds: readonly DdlAction['kind'][] = [
  'create',
  'drop',
  'rename',
  'dropDatabase',
  'createIndex',
  'dropIndex',
  'collMod',
  'view',
  'out',
  'convertToCapped',
  'shardCollection',
  'writeAside',
];

const createOptions: readonly Document[] = [
  {},
  { capped: true, size: 32_768 },
  { collation: { locale: 'de', strength: 1 } },
  { validator: { v: { $exists: true } }, validationAction: 'warn' },
];

const indexes: readonly Document[] = [
  { key: { v: 1 }, name: 'v' },
  { key: { k: 1, v: -1 }, name: 'k_v', partialFilterExpression: { v: { $gt: 5 } } },
  { key: { when: 1 }, name: 'when', expireAfterSeconds: 9_000_000 },
  { key: { text: 'text' }, name: 'text' },
  { key: { '$**': 1 }, name: 'wild' },
  { key: { k: 1, u: 1, m: 1, v: 1 }, name: 'distinct', unique: true, sparse: true },
];

const shardKeys: readonly Document[] = [{ _id: 'hashed' }, { k: 1 }, { k: 1, m: 1 }];

/**
 * Changes the source's definitions.
 * @throws RefusedByServer
 */
export async function runDdl({ kind, collection, other, n }: DdlAction, session: User): Promise<void> {
  const namespace = `${database}.${collection}`;
  switch (kind) {
    case 'create':
      await session.command(database, { create: collection, ...createOptions[n % createOptions.length] });
      return;
    case 'drop':
      await session.command(database, { drop: collection });
      return;
    case 'rename':
      await session.command('admin', {
        renameCollection: namespace,
        to: `${database}.${other}`,
        dropTarget: n % 2 === 0,
      });
      return;
    case 'dropDatabase':
      await session.command(passingDatabase, { dropDatabase: 1 });
      return;
    case 'writeAside':
      await session.command(passingDatabase, { insert: collection, documents: [{ _id: n, v: n }] });
      return;
    case 'createIndex':
      await session.command(database, { createIndexes: collection, indexes: [indexes[n % indexes.length]] });
      return;
    case 'dropIndex':
      await session.command(database, {
        dropIndexes: collection,
        index: n % 11 === 0 ? '*' : n % 5 === 0 ? ['v', 'when'] : (indexes[n % indexes.length]?.['name'] as string),
      });
      return;
    case 'collMod':
      await session.command(database, collMod(collection, n));
      return;
    case 'view':
      await changeView(other, collection, n, session);
      return;
    case 'out':
      await session.command(database, {
        aggregate: collection,
        pipeline: [{ $match: { v: { $lt: n } } }, { $out: other }],
        cursor: {},
      });
      return;
    case 'convertToCapped':
      await session.command(database, { convertToCapped: collection, size: 16_384 });
      return;
    case 'shardCollection':
      await session.command('admin', { shardCollection: namespace, key: shardKeys[n % shardKeys.length] });
  }
}

function collMod(collection: string, n: number): Document {
  const changes: readonly Document[] = [
    { validator: { v: { $gte: -n } }, validationLevel: 'strict' },
    { validator: {} },
    { index: { name: 'when', expireAfterSeconds: 9_000_000 + n } },
    { index: { name: 'v', hidden: n % 2 === 0 } },
  ];
  return { collMod: collection, ...changes[n % changes.length] };
}

async function changeView(on: string, collection: string, n: number, session: User): Promise<void> {
  const name = `view${n % 3}`;
  const pipeline = [{ $match: { v: { $gt: n } } }];
  if (n % 4 === 0) await session.command(database, { drop: name });
  else if (n % 4 === 1) await session.command(database, { collMod: name, viewOn: collection, pipeline });
  else await session.command(database, { create: name, viewOn: n % 4 === 2 ? collection : on, pipeline });
}
