import type { Document } from 'mongodb';

/** The only database of users that every history has. */
export const database = 'shop';

/** A collection of the source, and how it is made. */
export interface SourceCollection {
  readonly name: string;
  /** Null: not sharded. */
  readonly key: Document | null;
  /**
   * Values of the first key field at which it is cut into chunks, one after the other on the shards; only of ranged
   * keys.
   */
  readonly cuts: readonly unknown[];
  readonly options: Document;
  readonly indexes: readonly Document[];
  /** Documents are only ever added. */
  readonly capped: boolean;
}

const plain = { key: null, cuts: [], options: {}, indexes: [], capped: false } as const;

/** Collections of histories; the configuration of each chooses some. */
export const sourceCollections: readonly SourceCollection[] = [
  {
    ...plain,
    name: 'plain',
    indexes: [
      { key: { u: 1 }, name: 'u_1', unique: true, sparse: true },
      { key: { t: 1 }, name: 't_1', expireAfterSeconds: 8_000_000 },
    ],
  },
  { ...plain, name: 'hashed', key: { _id: 'hashed' }, indexes: [{ key: { v: 1 }, name: 'v_1', hidden: true }] },
  { ...plain, name: 'ranged', key: { k: 1 }, cuts: [2, 4, 6, 8], indexes: [{ key: { m: 1, v: -1 }, name: 'm_v' }] },
  { ...plain, name: 'compound', key: { k: 1, m: 'hashed' }, cuts: [3, 5, 7] },
  {
    ...plain,
    name: 'unique',
    key: { k: 1, u: 1 },
    cuts: [2, 5],
    indexes: [{ key: { k: 1, u: 1, v: 1 }, name: 'k_u_v', unique: true }],
  },
  { ...plain, name: 'collated', options: { collation: { locale: 'en', strength: 2 } } },
  { ...plain, name: 'capped', options: { capped: true, size: 65_536, max: 40 }, capped: true },
  { ...plain, name: 'checked', options: { validator: { v: { $gte: 0 } }, validationLevel: 'moderate' } },
];

/** Views that every history has. */
export const views: readonly Document[] = [
  { create: 'seen', viewOn: 'plain', pipeline: [{ $match: { v: { $gt: 3 } } }] },
  { create: 'seenAgain', viewOn: 'seen', pipeline: [{ $project: { v: 1 } }] },
];
