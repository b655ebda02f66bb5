import { Timestamp } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { CatalogChange } from '../../../src/catalog/compare-catalogs.js';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { DdlLedger } from '../../../src/ddl/ddl-ledger.js';
import { judgeCatalog, type ReadCatalogs, refuseCatalogChanges } from '../../../src/ddl/judge-catalog.js';
import type { DdlEntry, NewDdlEntry } from '../../../src/store/ddl-journal.js';
import { chunkOf, keyPattern } from '../catalog/as-read.js';
import { never } from '../model/parts.js';

const uuid = (byte: string): string => byte.repeat(16);

function entryOf(name: string, byte: string, more: Partial<CatalogEntry> = {}): CatalogEntry {
  return {
    database: 'shop',
    name,
    type: 'collection',
    uuid: uuid(byte),
    options: {},
    indexes: [],
    sharding: null,
    primaryShard: 's0',
    sizeBytes: 0,
    documentCount: 0,
    ...more,
  };
}

const sharded = (key: string, shard = 's0') => ({
  sharding: {
    key: keyPattern({ [key]: 1 }),
    unique: false,
    chunks: [chunkOf({ [key]: 0 }, { [key]: 1 }, shard)],
    everMoved: false,
  },
});

function ledgerOf(atStart: CatalogEntry[]): DdlLedger {
  const append = (_epoch: number, ordinal: number, found: NewDdlEntry): Promise<DdlEntry> =>
    Promise.resolve({ ...found, ordinal, state: 'undone', entry: null });
  return new DdlLedger({ append, finish: () => Promise.resolve() }, 1, atStart, []);
}

/** What is added to the journal, each entry as a few words. */
async function judged(
  ledger: DdlLedger,
  input: Partial<ReadCatalogs> & { keepsBalancer?: boolean },
): Promise<string[]> {
  const found: string[] = [];
  const { keepsBalancer = false, ...read } = input;
  const catalogs = { now: [], found: [], time: 9n, isSettled: true, ...read };
  const pairs = { destinationOf: (source: string) => `d${source}` };
  const judges = judgeCatalog(catalogs, ledger, pairs, keepsBalancer);
  for (const judge of judges) {
    await ledger.add((followed) => {
      const ddlChange = judge(followed);
      if (ddlChange !== null)
        found.push(`${ddlChange.operation} ${ddlChange.name}${ddlChange.droppedUuid === null ? '' : ' over another'}`);
      return ddlChange;
    }, never);
  }
  return found;
}

describe('what two catalogs show', () => {
  const atStart = [entryOf('a', '0a'), entryOf('b', '0b')];
  const made = atStart.map((entry) => ({ ...entry, uuid: `d${entry.uuid}` }));

  it.each([
    ['a higher limit of documents on the source', { size: 4096, max: 10 }, { size: 4096, max: 3 }, ['restart a']],
    ['no limit of documents any more', { size: 4096 }, { size: 4096, max: 3 }, ['restart a']],
    ['a larger size', { size: 8192 }, { size: 4096 }, ['restart a']],
    ['a size that the source rounded', { size: 4096 }, { size: 4000 }, []],
    ['a lower limit', { size: 4096, max: 3 }, { size: 8192 }, []],
  ])('is a copy anew of a capped collection with %s', async (_what, onSource, onDestination, expected) => {
    const capped = (one: CatalogEntry | undefined, options: object): CatalogEntry[] =>
      one === undefined ? [] : [{ ...one, options: { capped: true, ...options } }];
    const now = capped(atStart[0], onSource);
    expect(await judged(ledgerOf(now), { now, found: capped(made[0], onDestination) })).toEqual(expected);
  });

  it('is nothing if they are alike, and nothing about options and indexes', async () => {
    const now = [
      entryOf('a', '0a', { indexes: [{ key: { x: 1 }, name: 'x_1' }] }),
      entryOf('b', '0b', { options: { validator: {} } }),
    ];
    expect(await judged(ledgerOf(atStart), { now, found: made })).toEqual([]);
  });

  it('leaves drops and renames to the stream', async () => {
    expect(await judged(ledgerOf(atStart), { now: [entryOf('c', '0a')], found: made })).toEqual([]);
  });

  it('is a creation of an unknown collection, even if it replaces another', async () => {
    expect(await judged(ledgerOf(atStart), { now: [...atStart, entryOf('c', '0c')], found: made })).toEqual([
      'create c',
    ]);
    expect(await judged(ledgerOf(atStart), { now: [entryOf('a', '0c'), entryOf('b', '0b')], found: made })).toEqual([
      'create a over another',
    ]);
  });

  it.each([
    ['since the catalog was read', { isSettled: false, time: 9n }],
    ['after the time of the comparison', { isSettled: true, time: 4n }],
  ])('is no creation of a collection that another one was renamed over %s', async (_, read) => {
    const ledger = ledgerOf(atStart);
    const renamed = { uuid: uuid('0b'), database: 'shop', name: 'b', to: { database: 'shop', name: 'a' } };
    const time = new Timestamp(5n);
    await ledger.add(() => ({ ...renamed, operation: 'rename', droppedUuid: uuid('0a'), time }), never);
    await ledger.finish(entryOf('a', '0b'), never);
    expect(await judged(ledger, { now: atStart, found: made, ...read })).toEqual([]);
    expect(ledger.followed.at('shop', 'a')?.uuid).toBe(uuid('0b'));
  });

  it('is no creation over another one that may have the name since the catalog was read', async () => {
    const now = [entryOf('a', '0c'), entryOf('b', '0b')];
    expect(await judged(ledgerOf(atStart), { now, found: made, isSettled: false })).toEqual([]);
  });

  it('is one restart of a collection that was sharded, whoever reports it first', async () => {
    const now = [entryOf('a', '0a', sharded('k')), entryOf('b', '0b')];
    const ledger = ledgerOf(atStart);
    expect(await judged(ledger, { now, found: made })).toEqual(['restart a']);
    expect(await judged(ledger, { now, found: made })).toEqual([]);
  });

  it('is a restart of a collection with an unknown counterpart, once everything known is applied', async () => {
    const found = [entryOf('a', '2a'), ...made.slice(1)];
    expect(await judged(ledgerOf(atStart), { now: atStart, found, isSettled: false })).toEqual([]);
    expect(await judged(ledgerOf(atStart), { now: atStart, found })).toEqual(['restart a']);
  });

  it('is nothing for a collection that lost its shard key: the drop arrives with the stream', async () => {
    expect(
      await judged(ledgerOf([entryOf('a', '0a', sharded('k'))]), { now: [entryOf('a', '0a')], isSettled: false }),
    ).toEqual([]);
  });

  it.each([
    ['another shard key', entryOf('a', '0a', sharded('other')), 'shardKeyChanged'],
    ['chunks that have moved', entryOf('a', '0a', sharded('k', 's1')), 'chunkMigrationSeen'],
    ['another primary shard', entryOf('a', '0a', { ...sharded('k'), primaryShard: 's1' }), 'primaryShardChanged'],
  ])('%s end the migration by their name', async (_what, changed, error) => {
    const ledger = ledgerOf([entryOf('a', '0a', sharded('k'))]);
    await expect(judged(ledger, { now: [changed] })).rejects.toMatchObject({ error });
  });

  it('is nothing for a sharded collection whose chunks or primary moved, if the balancer was kept', async () => {
    const ledger = ledgerOf([entryOf('a', '0a', sharded('k')), entryOf('b', '0b')]);
    const moved = entryOf('a', '0a', { ...sharded('k', 's1'), primaryShard: 's1' });
    expect(await judged(ledger, { now: [moved, entryOf('b', '0b')], keepsBalancer: true, isSettled: false })).toEqual(
      [],
    );
    const unsharded = entryOf('b', '0b', { primaryShard: 's1' });
    await expect(judged(ledger, { now: [moved, unsharded], keepsBalancer: true })).rejects.toMatchObject({
      error: 'primaryShardChanged',
    });
  });
});

it('leads to the same result when the journal is read again', async () => {
  const time = new Timestamp(5n);
  const undone = (ordinal: number, more: Partial<DdlEntry>): DdlEntry => ({
    ordinal,
    operation: 'drop',
    uuid: uuid('0a'),
    database: 'shop',
    name: 'a',
    to: null,
    droppedUuid: null,
    time,
    state: 'undone',
    entry: null,
    ...more,
  });
  const atStart = [entryOf('a', '0a'), entryOf('b', '0b')];
  const ddlChanges = [
    undone(1, { state: 'done' }),
    undone(2, { operation: 'rename', uuid: uuid('0b'), name: 'b', to: { database: 'shop', name: 'a' } }),
    undone(3, { operation: 'create', uuid: uuid('0c'), name: 'b' }),
  ];
  const append = () => Promise.reject(new Error('nothing is found'));
  const ledger = new DdlLedger({ append, finish: () => Promise.resolve() }, 2, atStart, ddlChanges);
  expect([ledger.known, ledger.done, ledger.next?.ordinal, ledger.latest]).toEqual([3, 1, 2, 5n]);
  expect([ledger.followed.at('shop', 'a')?.uuid, ledger.followed.at('shop', 'b')?.uuid]).toEqual([
    uuid('0b'),
    uuid('0c'),
  ]);
  await ledger.finish(entryOf('a', '0b'), never);
  await ledger.finish(null, never);
  expect([ledger.followed.at('shop', 'b'), ledger.collections.get(uuid('0b'))?.name, ledger.next]).toEqual([
    undefined,
    'a',
    undefined,
  ]);
});

const inside = { database: 'shop', name: 'orders' };

describe('changes between two reads of the catalog', () => {
  const changeOf = (kind: CatalogChange['kind']): CatalogChange =>
    ({ kind, entry: inside, before: inside }) as CatalogChange;

  it('none are fine', () => {
    expect(() => refuseCatalogChanges([])).not.toThrow();
  });

  it.each([
    ['chunksMoved' as const, 'chunkMigrationSeen'],
    ['primaryShard' as const, 'primaryShardChanged'],
    ['shardKey' as const, 'shardKeyChanged'],
  ])('%s is named %s, also among others', (kind, error) => {
    expect(() => refuseCatalogChanges([changeOf(kind)])).toThrow(expect.objectContaining({ error }));
  });

  it('name a few namespaces and count the rest', () => {
    const many = Array.from({ length: 8 }, () => changeOf('shardKey'));
    expect(() => refuseCatalogChanges(many)).toThrow(/and 3 more/);
  });
});
