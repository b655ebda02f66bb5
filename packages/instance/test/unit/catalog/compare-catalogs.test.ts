import { type Document, Timestamp } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { catalogChanges, compareCatalogs } from '../../../src/catalog/compare-catalogs.js';
import { planIndexes } from '../../../src/catalog/index-plan.js';
import type { CatalogEntry, Chunk } from '../../../src/catalog/namespace.js';
import { chunkOf, indexAsRead, keyPattern } from './as-read.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

function entry(parts: Partial<CatalogEntry> = {}, indexes: Document[] = []): CatalogEntry {
  return {
    database: 'd',
    name: 'c',
    type: 'collection',
    uuid: '0c',
    options: {},
    sharding: null,
    primaryShard: 's0',
    sizeBytes: 0,
    documentCount: 0,
    indexes: [{ v: 2, key: { _id: 1 }, name: '_id_' }, ...indexes].map(indexAsRead),
    ...parts,
  };
}

const final = {
  form: 'final',
  indexScope: 'all',
  remap: noRemap,
  destination: { kind: 'sharded', version: [5, 0, 0] },
} as const;
const temporary = { ...final, form: 'temporary' } as const;
const unique = { v: 2, key: { u: 1 }, name: 'u_1', unique: true };
const plainUnique = { v: 2, key: { u: 1 }, name: 'convoy_temporary_u_1' };
const ttl = { v: 2, key: { t: 1 }, name: 'ttl', expireAfterSeconds: 60 };
const ttlOff = { ...ttl, expireAfterSeconds: 2_147_483_647 };

describe('compareCatalogs', () => {
  it('names missing and extra collections', () => {
    expect(compareCatalogs([entry()], [entry({ name: 'x' })], final)).toEqual([
      { kind: 'missing', namespace: 'd.c', detail: 'collection' },
      { kind: 'extra', namespace: 'd.x', detail: 'collection is not on the source' },
    ]);
  });

  it('distinguishes the temporary form from the final one', () => {
    const source = [entry({}, [unique, ttl])];
    const waiting = [entry({}, [plainUnique, ttlOff])];
    expect(compareCatalogs(source, waiting, temporary)).toEqual([]);
    expect(compareCatalogs(source, source, final)).toEqual([]);
    expect(compareCatalogs(source, waiting, final).map((one) => one.detail)).toEqual([
      'u_1 is missing',
      'ttl differs in expireAfterSeconds',
      'convoy_temporary_u_1 is extra',
    ]);
  });

  it('finds an index that only some shards of the destination have, wanted or not', () => {
    const inconsistentIndexes = [{ namespace: 'd.c', index: 'ttl', shards: ['b'], forms: [{ index: ttl, shards: 1 }] }];
    const details = (source: Document[]): string[] =>
      compareCatalogs([entry({}, source)], [entry({ inconsistentIndexes })], final).map(({ detail }) => detail);
    expect([details([]), details([ttl])]).toEqual([['ttl is extra'], ['ttl is missing']]);
  });

  it.each([['unique'], ['hidden'], ['prepareUnique']])('finds an index whose %s was not restored', (attribute) => {
    const index = { v: 2, key: { a: 1 }, name: 'a_1' };
    const differences = compareCatalogs([entry({}, [{ ...index, [attribute]: true }])], [entry({}, [index])], final);
    expect(differences).toEqual([{ kind: 'index', namespace: 'd.c', detail: `a_1 differs in ${attribute}` }]);
  });

  it('finds different options, and treats rounded capped sizes and explicit defaults as equal', () => {
    const capped = (size: number): CatalogEntry => entry({ options: { capped: true, size } });
    expect(compareCatalogs([capped(1_000)], [capped(1_024)], final)).toEqual([]);
    expect(compareCatalogs([capped(1_000)], [capped(2_048)], final)).toEqual([
      { kind: 'options', namespace: 'd.c', detail: 'size' },
    ]);
    const validated = (more: Document): CatalogEntry => entry({ options: { validator: { a: 1 }, ...more } });
    expect(
      compareCatalogs([validated({})], [validated({ validationLevel: 'strict', validationAction: 'error' })], final),
    ).toEqual([]);
    expect(compareCatalogs([validated({})], [validated({ validationAction: 'warn' })], final)).toHaveLength(1);
  });

  it('finds different shard keys, also with fields in another order', () => {
    const sharded = (key: Document, isUnique = false): CatalogEntry =>
      entry({ sharding: { key: keyPattern(key), unique: isUnique, chunks: [], everMoved: false } }, [
        { v: 2, key, name: 'k' },
      ]);
    const kinds = (a: CatalogEntry, b: CatalogEntry): string[] =>
      compareCatalogs([a], [b], final).map((one) => one.kind);
    expect(kinds(sharded({ a: 1, b: 1 }), sharded({ a: 1, b: 1 }))).toEqual([]);
    expect(kinds(sharded({ a: 1, b: 1 }), sharded({ b: 1, a: 1 }))).toContain('shardKey');
    expect(kinds(sharded({ a: 1 }), entry({}, [{ v: 2, key: { a: 1 }, name: 'k' }]))).toEqual(['shardKey']);
    const index = (...fields: [string, number][]): CatalogEntry =>
      entry({}, [{ v: 2, key: new Map(fields), name: 'k' }]);
    expect(kinds(index(['b', 1], ['10', 1]), index(['10', 1], ['b', 1]))).toEqual(['index']);
  });

  it('expects the indexes of a shard key on a replica set, and no shard key', () => {
    const key = { a: 1 };
    const byKey = { v: 2, key, name: 'k', unique: true };
    const sharding = { key: keyPattern(key), unique: true, chunks: [], everMoved: false };
    const replicaSet = { ...final, destination: { kind: 'replicaSet', version: [6, 0, 0] } } as const;
    expect(compareCatalogs([entry({ sharding }, [byKey])], [entry({}, [byKey])], replicaSet)).toEqual([]);
    expect(compareCatalogs([entry({ sharding })], [entry()], replicaSet)).toEqual([]);
    const plain = entry({}, [{ v: 2, key, name: 'k' }]);
    expect(compareCatalogs([entry({ sharding }, [byKey])], [plain], { ...replicaSet, form: 'temporary' })).toEqual([]);
    const collated = entry({ sharding, options: { collation: { locale: 'fr' } } }, [{ ...byKey, unique: false }]);
    const names = (source: CatalogEntry): unknown[] =>
      planIndexes(source, { ...replicaSet, indexScope: 'shardKey' }).indexes.map(
        ({ final: { name } }) => name as unknown,
      );
    expect(names(entry({ sharding }, [byKey]))).toEqual([]);
    expect(names(collated)).toEqual(['k']);
  });

  it('ignores another library version of a collation', () => {
    const collated = (version: string): CatalogEntry => entry({ options: { collation: { locale: 'fr', version } } });
    expect(compareCatalogs([collated('57.1')], [collated('62.1')], final)).toEqual([]);
  });
});

describe('catalogChanges', () => {
  const kinds = (before: CatalogEntry[], after: CatalogEntry[]): string[] =>
    catalogChanges(before, after).map((change) => change.kind);

  it('finds nothing in two equal reads', () => {
    expect(catalogChanges([entry({ sizeBytes: 1 }, [unique])], [entry({ sizeBytes: 2 }, [unique])])).toEqual([]);
  });

  it('compares by UUID, not by name', () => {
    expect(kinds([entry()], [entry({ uuid: '0d' })])).toEqual(['dropped', 'created']);
    expect(kinds([entry()], [entry({ name: 'new' })])).toEqual(['renamed']);
    expect(kinds([entry(), entry({ name: 'x', uuid: '0e' })], [entry({ name: 'x' })])).toEqual(['dropped', 'renamed']);
  });

  it('compares views by name', () => {
    const view = (pipeline: Document[]): CatalogEntry =>
      entry({ type: 'view', uuid: '', indexes: [], options: { viewOn: 'c', pipeline } });
    expect(kinds([view([])], [view([new Map([['$match', {}]])])])).toEqual(['options']);
    expect(kinds([view([])], [])).toEqual(['dropped']);
  });

  it('reports which indexes were created, dropped and changed', () => {
    const [change] = catalogChanges(
      [entry({}, [unique, ttl])],
      [entry({}, [ttlOff, { v: 2, key: { n: 1 }, name: 'n_1' }])],
    );
    expect(change).toMatchObject({
      kind: 'indexes',
      added: [{ name: 'n_1' }],
      dropped: [{ name: 'u_1' }],
      modified: [{ before: { expireAfterSeconds: 60 }, after: { expireAfterSeconds: 2_147_483_647 } }],
    });
  });

  it('distinguishes moved chunks from splits', () => {
    const sharded = (chunks: [number, number, string][]): CatalogEntry =>
      entry({
        sharding: {
          key: keyPattern({ k: 1 }),
          unique: false,
          chunks: chunks.map(([min, max, shard]) => chunkOf({ k: min }, { k: max }, shard)),
          everMoved: false,
        },
      });
    const before = sharded([
      [0, 10, 'a'],
      [10, 20, 'b'],
    ]);
    expect(
      kinds(
        [before],
        [
          sharded([
            [0, 5, 'a'],
            [5, 10, 'a'],
            [10, 20, 'b'],
          ]),
        ],
      ),
    ).toEqual([]);
    expect(
      kinds(
        [before],
        [
          sharded([
            [0, 5, 'a'],
            [5, 20, 'b'],
          ]),
        ],
      ),
    ).toEqual(['chunksMoved']);
    expect(kinds([before], [entry()])).toEqual(['shardKey']);
    expect(kinds([entry()], [entry({ primaryShard: 's1' })])).toEqual(['primaryShard']);
  });

  it('finds chunks that moved there and back, but no splits, merges, renames or entries without versions', () => {
    const time = (t: number, i = 0): Timestamp => new Timestamp({ t, i });
    const chunk = (min: number, max: number, version?: Timestamp, ownedSince?: Timestamp): Chunk => ({
      ...chunkOf({ k: min }, { k: max }, 'a'),
      ...(version && { version }),
      ...(ownedSince && { ownedSince }),
    });
    const sharded = (...chunks: Chunk[]): CatalogEntry =>
      entry({ sharding: { key: keyPattern({ k: 1 }), unique: false, chunks, everMoved: false } });
    const before = sharded(chunk(0, 10, time(3, 1), time(50)), chunk(10, 20, time(2), time(60)));
    const [moved, unmoved]: [CatalogEntry[], CatalogEntry[]] = [
      [
        sharded(chunk(0, 10, time(5), time(80)), chunk(10, 20, time(4, 1), time(60))),
        sharded(
          chunk(0, 5, time(5, 1), time(80)),
          chunk(5, 10, time(5, 2), time(80)),
          chunk(10, 20, time(4, 1), time(60)),
        ),
        sharded(chunk(0, 20, time(5, 3), time(90))),
        sharded(chunk(0, 20, time(5))),
      ],
      [
        before,
        sharded(
          chunk(0, 5, time(3, 2), time(50)),
          chunk(5, 10, time(3, 3), time(50)),
          chunk(10, 20, time(2), time(60)),
        ),
        sharded(chunk(0, 20, time(3, 2), time(90))),
        sharded(chunk(0, 10, time(4), time(50)), chunk(10, 20, time(2), time(60))),
      ],
    ];
    expect(moved.map((after) => kinds([before], [after]))).toEqual(moved.map(() => ['chunksMoved']));
    expect(unmoved.map((after) => kinds([before], [after]))).toEqual(unmoved.map(() => []));
    expect(kinds([sharded(chunk(0, 20))], [sharded(chunk(0, 20, time(9), time(90)))])).toEqual([]);
    expect(kinds([entry({ primaryVersion: 1 })], [entry({ primaryVersion: 3 })])).toEqual(['primaryShard']);
    expect(kinds([entry()], [entry({ primaryVersion: 3 })])).toEqual([]);
  });
});
