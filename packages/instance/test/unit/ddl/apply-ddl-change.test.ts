import { BSON, type Document, Timestamp } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { planDestination } from '../../../src/catalog/destination-plan.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { applyDdlChange, type ApplyDdlDependencies } from '../../../src/ddl/apply-ddl-change.js';
import type { DdlEntry } from '../../../src/store/ddl-journal.js';
import { FakeNodeClient, fakeCluster, serverError } from '../fake-node-client.js';
import { never } from '../model/parts.js';
import { compileNamespaceRemap, type NamespaceRemap, noRemap } from '../../../src/catalog/namespace-remap.js';
import { pairsIn } from './pairs-in.js';

const uuidOf = (byte: string): string => byte.repeat(16);
const [sourceOrders, sourceNew] = [uuidOf('0a'), uuidOf('0b')];
const [madeOrders, madeSince] = [uuidOf('1a'), uuidOf('1b')];

/** Collections of `shop` on the destination, by name; a time series has no UUID. */
let present: Map<string, string>;
let pairs: Map<string, string>;
let onSource: CatalogEntry | null;
/** Answers instead of a command after it has taken effect. */
let failAfter: { command: string; code: number } | null;
let client: FakeNodeClient;

function entryOf(name: string, uuid: string): CatalogEntry {
  return {
    database: 'shop',
    name,
    type: 'collection',
    uuid,
    options: {},
    indexes: [],
    sharding: null,
    primaryShard: 'rs',
    sizeBytes: 0,
    documentCount: 0,
  };
}

function answered(name: string, reply: Document = {}): Document {
  if (failAfter?.command === name) throw serverError(failAfter.code, 'AlreadySo');
  return reply;
}

function listed(command: Document): Document {
  const wanted = (command.filter as { name?: string } | undefined)?.name;
  const rows = [...present].filter(([name]) => wanted === undefined || name === wanted);
  return {
    cursor: {
      firstBatch: rows.map(([name, uuid]) => ({
        name,
        type: uuid === '' ? 'timeseries' : 'collection',
        options: {},
        info: uuid === '' ? {} : { uuid: new BSON.UUID(uuid) },
      })),
    },
  };
}

beforeEach(() => {
  present = new Map([
    ['orders', madeOrders],
    ['others', uuidOf('2a')],
  ]);
  pairs = new Map([[sourceOrders, madeOrders]]);
  [onSource, failAfter] = [null, null];
  client = new FakeNodeClient('router', {
    listCollections: (_database, command) => listed(command),
    listIndexes: () => ({ cursor: { firstBatch: [] } }),
    find: () => ({ cursor: { firstBatch: [] } }),
    create: (_database, command) => {
      present.set(String(command.create), uuidOf('3a'));
      return answered('create');
    },
    drop: (_database, command) => {
      present.delete(String(command.drop));
      return answered('drop');
    },
    renameCollection: (_database, command) => {
      const [from, to] = [command.renameCollection, command.to].map((name) => String(name).slice('shop.'.length)) as [
        string,
        string,
      ];
      present.set(to, present.get(from) ?? '');
      present.delete(from);
      return answered('renameCollection');
    },
  });
});

async function apply(
  operation: DdlEntry['operation'],
  more: Partial<DdlEntry> = {},
  remap: NamespaceRemap = noRemap,
): Promise<CatalogEntry | null> {
  const destination = fakeCluster({ router: client, kind: 'replicaSet', shardIds: ['rs'] });
  const deps: ApplyDdlDependencies = {
    destination,
    pairs: await pairsIn(pairs),
    filter: compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] }),
    remap,
    confirm: () => Promise.resolve(),
    readSource: () => Promise.resolve(onSource),
    plan: (entry) =>
      Promise.resolve(
        planDestination([entry], { source: { shardIds: ['rs'] }, destination, indexScope: 'all', remap }),
      ),
    entryOf: (uuid) => (uuid === sourceOrders ? entryOf('orders', uuid) : null),
  };
  const ddlChange: DdlEntry = {
    ordinal: 1,
    operation,
    uuid: sourceOrders,
    database: 'shop',
    name: 'orders',
    to: null,
    droppedUuid: null,
    time: new Timestamp(1n),
    state: 'undone',
    entry: null,
    ...more,
  };
  return applyDdlChange(deps, ddlChange, never);
}

/** The commands that change the destination, each with the collection that it names, in order. */
function changes(): string[] {
  return client.sent.flatMap(({ command }) => {
    const [name = '', collection] = Object.entries(command)[0] ?? [];
    return ['create', 'drop', 'renameCollection'].includes(name) ? [`${name} ${String(collection)}`] : [];
  });
}

describe('a drop', () => {
  it('takes the collection away that stands for the one of the source, and no other of the database', async () => {
    expect(await apply('drop')).toBeNull();
    expect(changes()).toEqual(['drop orders']);
  });

  it('that is replayed leaves alone what was made under the name since', async () => {
    present.set('orders', madeSince);
    pairs.set(sourceNew, madeSince);
    await apply('drop');
    expect(changes()).toEqual([]);
  });

  it.each([26, 361])('that an earlier sending has carried out is done (code %i)', async (code) => {
    failAfter = { command: 'drop', code };
    expect(await apply('drop')).toBeNull();
  });

  it('that the server refuses for another reason is not', async () => {
    failAfter = { command: 'drop', code: 13 };
    await expect(apply('drop')).rejects.toMatchObject({ code: 13 });
  });
});

describe('a rename', () => {
  const to = { database: 'shop', name: 'renamed' };

  it('goes by the UUID of the collection, and is done when it has the name already', async () => {
    expect(await apply('rename', { to })).toMatchObject({ name: 'renamed' });
    await apply('rename', { to });
    expect(changes()).toEqual(['renameCollection shop.orders']);
    expect(client.sent.find(({ command }) => 'renameCollection' in command)?.command.to).toBe('shop.renamed');
  });

  it('that an earlier sending has carried out is done', async () => {
    failAfter = { command: 'renameCollection', code: 26 };
    expect(await apply('rename', { to })).toMatchObject({ name: 'renamed' });
  });
});

describe('a creation', () => {
  it('makes an empty collection and records its UUID', async () => {
    onSource = entryOf('fresh', sourceNew);
    expect(await apply('create', { uuid: sourceNew, name: 'fresh' })).toMatchObject({ name: 'fresh' });
    expect(changes()).toEqual(['create fresh']);
    expect(pairs.get(sourceNew)).toBe(uuidOf('3a'));
  });

  it('never drops a collection that stands for another one', async () => {
    onSource = entryOf('orders', sourceNew);
    await expect(apply('create', { uuid: sourceNew })).rejects.toMatchObject({ error: 'internalError' });
    expect(changes()).toEqual([]);
  });

  it('drops a time series in the way, unless its buckets stand for those of another one', async () => {
    present = new Map([
      ['readings', ''],
      ['system.buckets.readings', madeOrders],
    ]);
    onSource = entryOf('readings', sourceNew);
    await expect(apply('create', { uuid: sourceNew, name: 'readings' })).rejects.toMatchObject({
      error: 'internalError',
    });
    expect(changes()).toEqual([]);
    pairs = new Map([[sourceOrders, madeSince]]);
    expect(await apply('create', { uuid: sourceNew, name: 'readings' })).toMatchObject({ name: 'readings' });
    expect(changes()).toEqual(['drop readings', 'create readings']);
  });

  it('anew of what the source no longer has leaves nothing behind', async () => {
    expect(await apply('restart')).toBeNull();
    expect(changes()).toEqual(['drop orders']);
  });

  it('of what the source no longer has came to nothing', async () => {
    expect(await apply('create', { uuid: sourceNew, name: 'gone' })).toBeNull();
    expect(changes()).toEqual([]);
  });
});

describe('a restart under a new name', () => {
  const to = { database: 'shop', name: 'renamed' };

  it('takes the collection away under its former name, and makes it under the new one', async () => {
    onSource = entryOf('renamed', sourceOrders);
    expect(await apply('restart', { to })).toMatchObject({ name: 'renamed' });
    expect(changes()).toEqual(['drop orders', 'create renamed']);
  });

  it('may be repeated by a later leader', async () => {
    onSource = entryOf('renamed', sourceOrders);
    await apply('restart', { to });
    await apply('restart', { to });
    expect(changes().slice(2)).toEqual(['drop renamed', 'create renamed']);
    expect([...present.keys()]).toEqual(['others', 'renamed']);
  });

  it('is made where its name leads on the destination', async () => {
    const [from, there] = [
      { database: 'shop', collection: 'renamed' },
      { database: 'shop', collection: 'pieces' },
    ];
    onSource = entryOf('renamed', sourceOrders);
    expect(await apply('restart', { to }, compileNamespaceRemap([{ from, to: there }]))).toMatchObject({
      name: 'renamed',
    });
    expect(changes()).toEqual(['drop orders', 'create pieces']);
  });
});
