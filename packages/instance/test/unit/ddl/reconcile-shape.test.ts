import type { Document } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { type CollectionPlan, planCollection } from '../../../src/catalog/destination-plan.js';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { reconcileOptions, reconcileViews, type ShapeDependencies } from '../../../src/ddl/reconcile-shape.js';
import type { LedDestination } from '../../../src/ddl/destination-collections.js';
import { fakeCluster, FakeNodeClient } from '../fake-node-client.js';
import { never } from '../model/parts.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

const replaced = new Error('replaced');
let client: FakeNodeClient;
/** How many confirmations succeed before another leader takes over. */
let allowed: number;

beforeEach(() => {
  allowed = Infinity;
  let made: Document[] = [];
  client = new FakeNodeClient('router', {
    listCollections: () => ({ cursor: { firstBatch: made } }),
    create: (_database, command) => {
      made = [
        {
          name: command.create as string,
          type: 'view',
          options: { viewOn: command.viewOn as string, pipeline: command.pipeline as Document[] },
        },
      ];
      return {};
    },
    drop: () => ({}),
    collMod: () => ({}),
  });
});

function deps(): Pick<LedDestination, 'destination' | 'confirm'> & Pick<ShapeDependencies, 'exclusively'> {
  const destination = fakeCluster({ router: client, kind: 'replicaSet', shardIds: ['rs'], version: [6, 0, 0] });
  const confirm = (): Promise<void> => (--allowed < 0 ? Promise.reject(replaced) : Promise.resolve());
  return { destination, confirm, exclusively: (work) => work() };
}

function planned(view: CatalogEntry): CollectionPlan {
  const { destination } = deps();
  return planCollection(view, { source: { shardIds: ['rs'] }, destination, indexScope: 'all', remap: noRemap }).plan;
}

function entryOf(name: string, type: CatalogEntry['type'], options: Document): CatalogEntry {
  return {
    database: 'shop',
    name,
    type,
    uuid: type === 'view' ? '' : '0a'.repeat(16),
    options,
    indexes: [],
    sharding: null,
    primaryShard: 'rs',
    sizeBytes: 0,
    documentCount: 0,
  };
}

function changes(): unknown[] {
  return client.sent.map(({ command }) => Object.keys(command)[0]).filter((name) => name !== 'listCollections');
}

const validated = entryOf('orders', 'collection', { validator: { n: 1 } });

it('changes options to those of the source', async () => {
  await reconcileOptions(deps(), validated, entryOf('orders', 'collection', {}), never);
  expect(client.sent).toMatchObject([{ database: 'shop', command: { collMod: 'orders', validator: { n: 1 } } }]);
});

it('keeps options of a destination on which another leader has continued', async () => {
  allowed = 0;
  await expect(reconcileOptions(deps(), validated, entryOf('orders', 'collection', {}), never)).rejects.toBe(replaced);
  expect(changes()).toEqual([]);
});

const view = (name: string, viewOn: string, more: Document = {}): CatalogEntry =>
  entryOf(name, 'view', { viewOn, pipeline: [], ...more });

it('views are dropped, changed and created, each only by the current leader', async () => {
  const source = [view('changed', 'orders'), view('made', 'orders')];
  const found = [view('gone', 'orders'), view('changed', 'items')];
  const expected = ['drop', 'collMod', 'create'];
  for (let count = 0; count <= expected.length; count += 1) {
    [allowed, client.sent.length] = [count, 0];
    await reconcileViews(deps(), source.map(planned), found, never).catch((error: unknown) =>
      expect(error).toBe(replaced),
    );
    expect(changes()).toEqual(expected.slice(0, count));
  }
});

it.each(['collection', 'timeseries'])('a %s that has taken the name of a view is left alone', async (type) => {
  client = new FakeNodeClient('router', {
    listCollections: () => ({ cursor: { firstBatch: [{ name: 'taken', type, options: {} }] } }),
  });
  const source = [view('changed', 'orders'), view('made', 'orders')];
  const found = [view('gone', 'orders'), view('changed', 'items')];
  await reconcileViews(deps(), source.map(planned), found, never);
  expect(changes()).toEqual([]);
});
