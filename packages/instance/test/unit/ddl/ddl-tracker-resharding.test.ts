import { beforeEach, describe, expect, it } from 'vitest';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { DdlLedger } from '../../../src/ddl/ddl-ledger.js';
import type { DdlEvent } from '../../../src/ddl/ddl-watcher.js';
import { DdlTracker } from '../../../src/ddl/ddl-tracker.js';
import type { DdlEntry, NewDdlEntry } from '../../../src/store/ddl-journal.js';
import { chunkOf, keyPattern } from '../catalog/as-read.js';
import { never } from '../model/parts.js';

const [orders, items, stranger, later, flat] = ['0a', '0b', '0c', '0d', '0e'].map((byte) => byte.repeat(16)) as [
  string,
  string,
  string,
  string,
  string,
];
/** How 8.0 shows a collection that `moveCollection` has moved: without a provenance. */
const moved = { to: stranger, keepsKey: true, provenance: null };
const filter = compileNamespaceFilter({
  includeNamespaces: [{ database: 'shop' }],
  excludeNamespaces: [{ database: 'shop', collections: ['hidden'] }],
});

let entries: DdlEntry[];
let ledger: DdlLedger;
let tracker: DdlTracker;
let triggers: number;

function entryOf(name: string, uuid: string, isSharded: boolean): CatalogEntry {
  const chunks = [chunkOf({ _id: 0 }, { _id: 1 }, 's0')];
  return {
    database: 'shop',
    name,
    type: 'collection',
    uuid,
    options: {},
    indexes: [],
    sharding: isSharded ? { key: keyPattern({ _id: 1 }), unique: false, chunks, everMoved: false } : null,
    primaryShard: 's0',
    sizeBytes: 0,
    documentCount: 0,
  };
}

function follow(atStart: readonly CatalogEntry[]): void {
  const append = (_epoch: number, ordinal: number, found: NewDdlEntry): Promise<DdlEntry> => {
    const ddlChange: DdlEntry = { ...found, ordinal, state: 'undone', entry: null };
    entries.push(ddlChange);
    return Promise.resolve(ddlChange);
  };
  ledger = new DdlLedger({ append, finish: () => Promise.resolve() }, 1, atStart, []);
  tracker = new DdlTracker({
    ledger,
    filter,
    remap: noRemap,
    shardsReplicaSet: false,
    showsEachCopy: true,
    keepsBalancer: false,
    clock: { monotonic_ms: () => 0 },
    source: {
      hasLeft: () => Promise.resolve(true),
      timeAboveAll: () => Promise.resolve(1000n),
      isUnsharded: (uuid) => Promise.resolve(uuid === flat),
    },
    onTrigger: () => (triggers += 1),
  });
}

beforeEach(() => {
  [entries, triggers] = [[], 0];
  follow([entryOf('orders', orders, true), entryOf('items', items, false)]);
});

function saw(
  operation: string,
  uuid: string,
  time: bigint,
  name: string,
  resharded: DdlEvent['resharded'] = null,
): Promise<void> {
  return tracker.take({ operation, time, uuid, database: 'shop', name, to: null, resharded }, never);
}

const resharded = (uuid: string, how: DdlEvent['resharded'], time = 20n): Promise<void> =>
  saw('reshardCollection', uuid, time, 'items', how);

const shown = (): unknown[] =>
  entries.map(({ operation, uuid, name, droppedUuid }) => [operation, uuid, name, droppedUuid]);
const arriving = (): unknown[] => [...tracker.arriving.values()].map(({ uuid, name }) => [uuid, name]);

describe('a collection that servers move to another shard', () => {
  it('by moveCollection is pending under its new UUID, however often the stream shows that', async () => {
    for (let shard = 0; shard < 2; shard += 1) await resharded(items, moved);
    expect([shown(), arriving()]).toEqual([[], [[stranger, 'items']]]);
  });

  it('by moveCollection twice is pending under the last UUID alone', async () => {
    await resharded(items, moved);
    await resharded(stranger, { ...moved, to: later }, 30n);
    expect([shown(), arriving()]).toEqual([[], [[later, 'items']]]);
  });

  it('by moveCollection before the catalog was read is copied again, once: a part may have been read', async () => {
    follow([entryOf('items', stranger, false)]);
    for (let shard = 0; shard < 2; shard += 1) await resharded(items, moved);
    expect([shown(), arriving()]).toEqual([[['restart', stranger, 'items', null]], []]);
    expect(entries[0]?.time.toBigInt()).toBe(20n);
  });

  it('by moveCollection is followed although it was dropped or moved on by now', async () => {
    await saw('drop', items, 10n, 'items');
    await resharded(stranger, { ...moved, to: later });
    expect(shown()).toEqual([
      ['drop', items, 'items', null],
      ['create', later, 'items', null],
    ]);
  });

  it('is waited for until it is known whether it is sharded', async () => {
    follow([]);
    await saw('create', items, 10n, 'items');
    const taken = resharded(items, moved);
    await ledger.finish(entryOf('items', items, true), never);
    await expect(taken).rejects.toMatchObject({ error: 'shardKeyChanged' });
  });

  it('is not of interest outside of the filter', async () => {
    await saw('reshardCollection', stranger, 20n, 'hidden', moved);
    expect([triggers, shown(), arriving()]).toEqual([1, [], []]);
  });
});

describe('what cannot be replicated', () => {
  it('is a refined shard key', async () => {
    await expect(saw('refineCollectionShardKey', orders, 20n, 'orders')).rejects.toMatchObject({
      error: 'shardKeyChanged',
      errorDescription: 'shop.orders was given a refined shard key on the source during the migration. Start anew.',
    });
  });

  it.each<[string, DdlEvent['resharded'], string]>([
    ['another key', { ...moved, keepsKey: false }, 'resharded'],
    ['the same key, as a rewrite', moved, 'resharded'],
    ['no key, if it was sharded by something else', { ...moved, to: flat, keepsKey: false }, 'unsharded'],
    ['no key, if it was sharded by _id', { ...moved, to: flat }, 'unsharded'],
    ['what the event does not say', null, 'resharded'],
    ['another key, by its provenance', { ...moved, provenance: 'rewriteCollection' }, 'resharded'],
  ])('is a sharded collection that gets %s', async (_what, to, what) => {
    await expect(saw('reshardCollection', orders, 20n, 'orders', to)).rejects.toMatchObject({
      error: 'shardKeyChanged',
      errorDescription: `shop.orders was ${what} on the source during the migration. Start anew.`,
    });
  });

  it('is a resharding of what was not known as sharded', async () => {
    await expect(resharded(items, { ...moved, keepsKey: false })).rejects.toMatchObject({ error: 'shardKeyChanged' });
  });

  it.each(['unshardCollection', 'reshardCollection'])('is a collection with the provenance %s', async (provenance) => {
    await expect(resharded(items, { ...moved, provenance })).rejects.toMatchObject({ error: 'shardKeyChanged' });
  });

  it('is not a move that its provenance names', async () => {
    await resharded(items, { ...moved, provenance: 'moveCollection' });
    expect([...tracker.arriving.keys()]).toEqual([stranger]);
  });
});
