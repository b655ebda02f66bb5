import { beforeEach, describe, expect, it, test } from 'vitest';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { creationOf, DdlLedger } from '../../../src/ddl/ddl-ledger.js';
import type { DdlEvent } from '../../../src/ddl/ddl-watcher.js';
import { DdlTracker } from '../../../src/ddl/ddl-tracker.js';
import type { DdlEntry, NewDdlEntry } from '../../../src/store/ddl-journal.js';
import { never } from '../model/parts.js';
import { chunkOf, keyPattern } from '../catalog/as-read.js';
import { compileNamespaceRemap, type NamespaceRemap, noRemap } from '../../../src/catalog/namespace-remap.js';

const filter = compileNamespaceFilter({
  includeNamespaces: [{ database: 'shop' }],
  excludeNamespaces: [{ database: 'shop', collections: ['hidden'] }],
});
const [orders, items, stranger] = ['0a', '0b', '0c'].map((byte) => byte.repeat(16)) as [string, string, string];
let entries: DdlEntry[];
/** Until then writes to the journal take. */
let written: Promise<void>;
let ledger: DdlLedger;
let tracker: DdlTracker;
let triggers: number;
let now_ms: number;
let showsEachCopy: boolean;
let keepsBalancer: boolean;
let remap: NamespaceRemap;
let shardsReplicaSet: boolean;

function entryOf(name: string, uuid: string, shards: readonly string[]): CatalogEntry {
  const chunks = shards.map((shard, index) => chunkOf({ sk: index }, { sk: index + 1 }, shard));
  const sharding = shards.length === 0 ? null : { key: keyPattern({ sk: 1 }), unique: false, chunks, everMoved: false };
  return {
    database: 'shop',
    name,
    type: 'collection',
    uuid,
    options: {},
    indexes: [],
    sharding,
    primaryShard: 's0',
    sizeBytes: 0,
    documentCount: 0,
  };
}

beforeEach(() => {
  entries = [];
  triggers = 0;
  now_ms = 0;
  showsEachCopy = true;
  keepsBalancer = false;
  remap = noRemap;
  shardsReplicaSet = false;
  written = Promise.resolve();
  const append = async (_epoch: number, ordinal: number, found: NewDdlEntry): Promise<DdlEntry> => {
    const ddlChange: DdlEntry = { ...found, ordinal, state: 'undone', entry: null };
    entries.push(ddlChange);
    await written;
    return ddlChange;
  };
  const journal = { append, finish: () => Promise.resolve() };
  ledger = new DdlLedger(journal, 1, [entryOf('orders', orders, ['s0', 's1']), entryOf('items', items, [])], []);
  tracker = new DdlTracker({
    ledger,
    filter,
    get remap() {
      return remap;
    },
    get shardsReplicaSet() {
      return shardsReplicaSet;
    },
    get showsEachCopy() {
      return showsEachCopy;
    },
    get keepsBalancer() {
      return keepsBalancer;
    },
    clock: { monotonic_ms: () => now_ms },
    source: {
      hasLeft: () => Promise.resolve(true),
      timeAboveAll: () => Promise.resolve(1000n),
      isUnsharded: () => Promise.reject(new Error('nothing is resharded')),
    },
    onTrigger: () => (triggers += 1),
  });
});

async function saw(
  operation: string,
  uuid: string | null,
  time: bigint,
  name: string,
  to: string | null = null,
): Promise<void> {
  const event: DdlEvent = {
    operation,
    time,
    uuid,
    database: 'shop',
    name,
    to: to === null ? null : { database: 'shop', name: to },
    resharded: null,
  };
  await tracker.take(event, never);
}

const shown = (): unknown[] =>
  entries.map(({ operation, uuid, name, to, droppedUuid }) => [operation, uuid, name, to?.name ?? null, droppedUuid]);

describe('copies of one change', () => {
  it('are one entry at the time of the last; until then the DDL watermark stays below the first', async () => {
    await saw('drop', orders, 20n, 'orders');
    expect([tracker.firstIncomplete, shown()]).toEqual([20n, []]);
    await saw('drop', orders, 25n, 'orders');
    expect([tracker.firstIncomplete, shown()]).toEqual([null, [['drop', orders, 'orders', null, null]]]);
    expect(entries[0]?.time.toBigInt()).toBe(25n);
  });

  it('are one if one shard shows the change for all, up to a time after all of them, without a pause', async () => {
    showsEachCopy = false;
    await saw('rename', orders, 20n, 'orders', 'sold');
    await tracker.settle(1000n, never);
    expect([tracker.firstIncomplete, shown()]).toEqual([20n, []]);
    await tracker.settle(1001n, never);
    expect([tracker.firstIncomplete, shown()]).toEqual([null, [['rename', orders, 'orders', 'sold', null]]]);
    expect(entries[0]?.time.toBigInt()).toBe(1000n);
    await saw('rename', items, 1100n, 'items', 'wares');
    expect(shown()).toHaveLength(2);
  });

  it('are not counted while chunks may move: the change is complete once the catalog shows it', async () => {
    keepsBalancer = true;
    for (const time of [20n, 21n, 22n]) await saw('drop', orders, time, 'orders');
    await tracker.settle(30n, never);
    expect([tracker.firstIncomplete, shown()]).toEqual([20n, []]);
    now_ms = 5_000;
    await tracker.settle(31n, never);
    await tracker.settle(1001n, never);
    expect([tracker.firstIncomplete, shown()]).toEqual([null, [['drop', orders, 'orders', null, null]]]);
    expect(entries[0]?.time.toBigInt()).toBe(1000n);
  });

  it('that arrive after a collection was created under the name do not affect it', async () => {
    for (const time of [20n, 21n]) await saw('drop', orders, time, 'orders');
    await saw('create', stranger, 30n, 'orders');
    await saw('drop', orders, 31n, 'orders');
    expect(shown()).toEqual([
      ['drop', orders, 'orders', null, null],
      ['create', stranger, 'orders', null, null],
    ]);
  });

  it('that a resumed stream shows again are ignored', async () => {
    await saw('rename', items, 20n, 'items', 'b');
    await saw('rename', items, 30n, 'b', 'c');
    tracker.forget();
    await saw('rename', items, 20n, 'items', 'b');
    await saw('rename', items, 30n, 'b', 'c');
    expect(shown()).toEqual([
      ['rename', items, 'items', 'b', null],
      ['rename', items, 'b', 'c', null],
    ]);
  });
});

describe('copies that do not arrive', () => {
  it('are no longer awaited once the catalog shows the change and everything up to a later time was read', async () => {
    await saw('drop', orders, 20n, 'orders');
    now_ms = 6_000;
    await tracker.settle(30n, never);
    await tracker.settle(1000n, never);
    expect([tracker.firstIncomplete, shown()]).toEqual([20n, []]);
    await tracker.settle(1001n, never);
    expect([tracker.firstIncomplete, shown()]).toEqual([null, [['drop', orders, 'orders', null, null]]]);
    expect(entries[0]?.time.toBigInt()).toBe(1000n);
  });

  it('leave the next rename in its place, although the catalog shows it already', async () => {
    await saw('rename', orders, 20n, 'orders', 'b');
    now_ms = 6_000;
    await tracker.settle(30n, never);
    await saw('rename', orders, 40n, 'b', 'c');
    await saw('rename', orders, 41n, 'b', 'c');
    await tracker.settle(1001n, never);
    expect(shown()).toEqual([
      ['rename', orders, 'orders', 'b', null],
      ['rename', orders, 'b', 'c', null],
    ]);
  });
});

describe('a name that is given anew', () => {
  const leaves = ['rename', orders, 'orders', 'old', null];

  it.each([true, false])('completes the rename from it: by a creation; each shard shows its copy: %s', async (each) => {
    showsEachCopy = each;
    await saw('rename', orders, 20n, 'orders', 'old');
    await saw('create', stranger, 31n, 'orders');
    await tracker.settle(1001n, never);
    expect(shown()).toEqual([leaves, ['create', stranger, 'orders', null, null]]);
    expect(ledger.followed.get(orders)?.name).toBe('old');
    // Copies that no stream shows were made before the name was free.
    expect(entries[0]?.time).toEqual(timestampOf(each ? 20n : 30n));
  });

  it.each([true, false])('completes the rename to it, each shard shows its copy: %s', async (each) => {
    showsEachCopy = each;
    await saw('rename', orders, 20n, 'orders', 'items');
    await saw('rename', stranger, 21n, 'hidden', 'items');
    await tracker.settle(1001n, never);
    expect(shown()).toEqual([
      ['rename', orders, 'orders', 'items', items],
      ['create', stranger, 'items', null, orders],
    ]);
  });

  it.each([
    ['within the filter', items, 'items', ['rename', items, 'items', 'orders', null]],
    ['into the filter', stranger, 'hidden', ['create', stranger, 'orders', null, null]],
  ])('completes the rename from it: by another rename, %s', async (_, uuid, name, follows) => {
    keepsBalancer = true;
    await saw('rename', orders, 20n, 'orders', 'old');
    await saw('rename', uuid, 21n, name, 'orders');
    now_ms = 6_000;
    for (const readBelow of [30n, 1001n]) await tracker.settle(readBelow, never);
    expect(shown()).toEqual([leaves, follows]);
    expect(ledger.followed.get(orders)?.name).toBe('old');
  });
});

describe("a rename and the filter's edge", () => {
  it('inside is a rename', async () => {
    await saw('rename', items, 20n, 'items', 'things');
    expect(shown()).toEqual([['rename', items, 'items', 'things', null]]);
  });

  it('over a followed collection drops that', async () => {
    await saw('rename', items, 20n, 'items', 'orders');
    expect(shown()).toEqual([['rename', items, 'items', 'orders', orders]]);
  });

  it('out of it is a drop', async () => {
    await saw('rename', items, 20n, 'items', 'hidden');
    expect(shown()).toEqual([['drop', items, 'items', null, null]]);
  });

  it('into it is a creation, which drops a followed collection of the name', async () => {
    await saw('rename', stranger, 20n, 'hidden', 'items');
    expect(shown()).toEqual([['create', stranger, 'items', null, items]]);
  });

  it.each([
    ['resharding.orders', 'accepted'],
    ['system.buckets.resharding.orders', 'accepted'],
    ['system.resharding.0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a', 'shardKeyChanged'],
    ['system.buckets.resharding.0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a', 'shardKeyChanged'],
  ])(
    'from %s into the filter is %s: the names of copies of a resharding are those of servers',
    async (from, outcome) => {
      const taken = saw('rename', stranger, 20n, from, 'items');
      if (outcome === 'accepted') await expect(taken).resolves.toBe(undefined);
      else await expect(taken).rejects.toMatchObject({ error: outcome });
    },
  );

  it('of a collection whose creation is being written follows that creation', async () => {
    const made = { uuid: stranger, database: 'shop', name: 'late' };
    let write = (): void => undefined;
    written = new Promise((resolve) => (write = resolve));
    const writing = ledger.add((followed) => creationOf(followed, made, timestampOf(10n)), never);
    const renaming = saw('rename', stranger, 20n, 'late', 'later');
    await new Promise(setImmediate);
    write();
    await writing;
    await ledger.finish(entryOf('late', stranger, []), never);
    await renaming;
    expect(shown()).toEqual([
      ['create', stranger, 'late', null, null],
      ['rename', stranger, 'late', 'later', null],
    ]);
  });

  it('outside is nothing', async () => {
    await saw('rename', stranger, 20n, 'other', 'hidden');
    expect(shown()).toEqual([]);
  });
});

it('a dropped database is the drops of its included collections', async () => {
  await saw('drop', stranger, 20n, 'hidden');
  await saw('drop', items, 21n, 'items');
  await saw('dropDatabase', null, 22n, '');
  expect(shown()).toEqual([['drop', items, 'items', null, null]]);
  expect(triggers).toBe(1);
});

test('a drop of an unknown UUID under an included name, as of a view, triggers a read of the catalog', async () => {
  await saw('drop', stranger, 20n, 'hidden');
  expect(triggers).toBe(0);
  await saw('drop', stranger, 21n, 'totals');
  expect([triggers, shown()]).toEqual([1, []]);
  for (const time of [22n, 23n]) await saw('drop', orders, time, 'orders');
  expect(triggers).toBe(1);
});

describe('a collection that servers move to another shard', () => {
  const arriving = (): unknown[] => [...tracker.arriving.values()].map(({ uuid, name }) => [uuid, name]);

  it('by movePrimary is pending while the old one exists: streams do not show its documents', async () => {
    await saw('create', stranger, 20n, 'items');
    expect([shown(), arriving()]).toEqual([[], [[stranger, 'items']]]);
    await saw('drop', items, 21n, 'items');
    expect([shown(), arriving()]).toEqual([[['drop', items, 'items', null, null]], [[stranger, 'items']]]);
  });

  it('by movePrimary is a new one if the old one was dropped before', async () => {
    await saw('drop', items, 20n, 'items');
    await saw('create', stranger, 21n, 'items');
    expect(ledger.followed.at('shop', 'items')?.uuid).toBe(stranger);
    expect([ledger.followed.get(items), arriving()]).toEqual([undefined, []]);
  });

  it('is no longer pending after an aborted movePrimary', async () => {
    await saw('create', stranger, 20n, 'items');
    await saw('drop', stranger, 21n, 'items');
    expect([shown(), arriving()]).toEqual([[], []]);
  });
});

it.each([
  'reshardBegin',
  'reshardDoneCatchUp',
  'createIndexes',
  'modify',
  'migrateLastChunkFromShard',
  'endOfTransaction',
  'kindOfTomorrow',
])('an event of the unknown kind %s triggers a read of the catalog', async (kind) => {
  for (const uuid of [orders, stranger, null]) await saw(kind, uuid, 20n, uuid === null ? '' : 'orders');
  expect([triggers, shown()]).toEqual([3, []]);
});

describe('other names on the destination', () => {
  const apart = compileNamespaceRemap([
    { from: { database: 'shop', collection: 'items' }, to: { database: 'archive', collection: 'items' } },
    { from: { database: 'shop', collection: 'parts' }, to: { database: 'archive', collection: 'pieces' } },
  ]);

  test('a rename into another database of the destination is a new copy under the new name', async () => {
    remap = apart;
    await saw('rename', items, 10n, 'items', 'things');
    expect(shown()).toEqual([['restart', items, 'items', 'things', null]]);
    expect(ledger.followed.at('shop', 'things')?.uuid).toBe(items);
  });

  test('a rename within a database of the destination stays one', async () => {
    remap = apart;
    await saw('rename', items, 10n, 'items', 'parts');
    expect(shown()).toEqual([['rename', items, 'items', 'parts', null]]);
  });

  test('a rename to a name that another one has there is refused', async () => {
    remap = compileNamespaceRemap([{ from: { database: 'store' }, to: { database: 'shop' } }]);
    await expect(saw('rename', items, 10n, 'items', 'things')).rejects.toMatchObject({
      error: 'namespaceRemapInvalid',
    });
  });

  test('a collection that was to be sharded cannot go into another database', async () => {
    [remap, shardsReplicaSet] = [apart, true];
    await expect(saw('rename', items, 10n, 'items', 'things')).rejects.toMatchObject({
      error: 'renameAcrossDatabases',
    });
  });
});
