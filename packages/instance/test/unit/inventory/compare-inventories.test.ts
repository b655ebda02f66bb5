import { describe, expect, it } from 'vitest';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { CarryChoice, carryProblems } from '../../../src/inventory/carry-choice.js';
import { compareInventories, itemsToCarry, leftBehind, tableOf } from '../../../src/inventory/compare-inventories.js';
import { type ClusterInventory, type Item, listedItem } from '../../../src/inventory/item.js';
import { balancingItem, rangesItem, zoneItem } from '../../../src/inventory/read/sharding-settings.js';

const choiceOf = (body: Partial<StartRequestBody> = {}, isReversed = false): CarryChoice =>
  new CarryChoice(parseStartRequest({ source: 'cluster0', destination: 'cluster1', ...body }), isReversed);

function inventoryWith(cluster: string, items: Item[], more: Partial<ClusterInventory> = {}): ClusterInventory {
  return { cluster, topology: 'sharded', shardIds: ['rs0', 'rs1'], items, unreadable: new Map(), logins: [], ...more };
}

function user(name: string, databases: string[] | null, content = name): Item {
  return {
    kind: 'users',
    name,
    scope: databases === null ? { of: 'cluster' } : { of: 'databases', databases },
    shown: 'roles',
    content,
    payload: { type: 'user', document: new Uint8Array() },
  };
}

function role(name: string, inherits: string[]): Item {
  const [own = '', db = ''] = name.split('@');
  const roles = inherits.map((one) => ({ role: one.split('@')[0], db: one.split('@')[1] }));
  const document = { role: own, db, roles, privileges: [] };
  return { ...user(name, [db]), kind: 'roles', payload: { type: 'role', document } };
}

const range = { min: Buffer.from('a'), max: Buffer.from('b'), zone: 'EU' };
const none = inventoryWith('cluster1', []);

function actions(source: Item[], destination: Item[], choice: CarryChoice): string[] {
  const rows = compareInventories(inventoryWith('cluster0', source), inventoryWith('cluster1', destination), choice);
  return rows.map(({ kind, name, action }) => `${kind} ${name}: ${action}`);
}

describe('the outcome of an item', () => {
  it('without carry nothing is carried, and what both have is equal', () => {
    const source = [user('a@admin', null), user('b@admin', null), listedItem('functions', 'shop.system.js', 'x')];
    expect(actions(source, [user('b@admin', null), user('c@admin', null)], choiceOf())).toEqual([
      'users a@admin: leftBehind',
      'users b@admin: equal',
      'users c@admin: kept',
      'functions shop.system.js: migrated',
    ]);
  });

  it('a user that differs is never carried; a setting that differs is', () => {
    const setting = (content: string): Item => ({
      ...user('defaultReadConcern', null, content),
      kind: 'defaultConcerns',
      payload: { type: 'defaultConcern', set: {} },
    });
    const choice = choiceOf({ carry: ['usersAndRoles', 'defaultConcerns'] });
    const source = [user('a@admin', null), setting('majority')];
    expect(actions(source, [user('a@admin', null, 'other'), setting('local')], choice)).toEqual([
      'users a@admin: differs',
      'defaultConcerns defaultReadConcern: carried',
    ]);
  });

  it("neither cluster's login of Convoy is an item", () => {
    const [source, destination] = [
      inventoryWith('cluster0', [user('sync@admin', null), user('other@admin', null)], {
        logins: [{ user: 'sync', db: 'admin' }],
      }),
      inventoryWith('cluster1', [], { logins: [{ user: 'other', db: 'admin' }] }),
    ];
    expect(compareInventories(source, destination, choiceOf({ carry: ['usersAndRoles'] }))).toEqual([]);
  });

  it('a filter leaves out what has access to other databases, and what belongs to the whole cluster', () => {
    const choice = choiceOf({ carry: ['usersAndRoles', 'zones'], includeNamespaces: [{ database: 'shop' }] });
    const source = [
      user('all@admin', null),
      user('both@admin', ['shop', 'other']),
      user('nothing@admin', []),
      user('shop@admin', ['shop']),
      rangesItem('other.c', [range]),
      rangesItem('shop.c', [range]),
      zoneItem('EU', ['rs0'], ['shop.c', 'other.c']),
      zoneItem('US', ['rs1'], ['other.c']),
    ];
    expect(actions(source, [], choice)).toEqual([
      'zones other.c: excluded',
      'zones shop.c: carried',
      'zones zone EU: carried',
      'zones zone US: excluded',
      'users all@admin: excluded',
      'users both@admin: excluded',
      'users nothing@admin: excluded',
      'users shop@admin: carried',
    ]);
  });

  it('a zone is met by more shards, not by other ones', () => {
    const choice = choiceOf({ carry: ['zones'] });
    const zone = zoneItem('EU', ['rs0'], ['shop.c']);
    expect(actions([zone], [zoneItem('EU', ['rs0', 'rs1'], [])], choice)).toEqual(['zones zone EU: equal']);
    expect(actions([zone], [zoneItem('EU', ['rs1'], [])], choice)).toEqual(['zones zone EU: carried']);
  });

  it('other names and other shards count on the destination, in a reverse backwards', () => {
    const remap = { namespaceRemap: [{ from: { database: 'shop' }, to: { database: 'store' } }] };
    const items = [balancingItem('shop.c', true, null, true), zoneItem('EU', ['rs0'], ['shop.c'])];
    const carry = ['balancing' as const, { zones: { rs0: 'a', rs1: 'b' } }];
    const carried = itemsToCarry(
      compareInventories(inventoryWith('cluster0', items), none, choiceOf({ carry, ...remap })),
    );
    expect(carried.map(({ payload }) => payload)).toEqual([
      { type: 'zone', zone: 'EU', shards: ['a'] },
      { type: 'balancing', namespace: 'store.c', noBalance: true, chunkSize_MB: null, autoMerger: true },
    ]);
    const back = choiceOf({ carry }, true).onDestination(zoneItem('EU', ['b'], []));
    expect(back.payload).toEqual({ type: 'zone', zone: 'EU', shards: ['rs1'] });
  });
});

describe('what is carried', () => {
  it('begins with roles, each after those that it inherits, and has zones before ranges', () => {
    const items = [
      rangesItem('shop.c', [range]),
      zoneItem('EU', ['rs0'], ['shop.c']),
      user('a@shop', ['shop']),
      role('all@shop', ['desk@shop', 'read@shop']),
      role('desk@shop', ['reader@shop']),
      role('reader@shop', []),
    ];
    const choice = choiceOf({ carry: ['usersAndRoles', 'zones'] });
    const rows = compareInventories(inventoryWith('cluster0', items), none, choice);
    expect(itemsToCarry(rows).map(({ name }) => name)).toEqual([
      'reader@shop',
      'desk@shop',
      'all@shop',
      'a@shop',
      'zone EU',
      'shop.c',
    ]);
  });
});

describe('what an operator reads', () => {
  it('names what is left behind, and what differs only where it was to be carried', () => {
    const [source, destination] = [
      inventoryWith('cluster0', [user('a@admin', null), user('b@admin', null)]),
      inventoryWith('cluster1', [user('a@admin', null, 'other')]),
    ];
    const left = (choice: CarryChoice): string[] => leftBehind(compareInventories(source, destination, choice), choice);
    expect(left(choiceOf())).toEqual(['users b@admin']);
    expect(left(choiceOf({ carry: ['usersAndRoles'] }))).toEqual(['users a@admin']);
  });

  it('has a row for a kind that is not readable, with the reason', () => {
    const source = inventoryWith('cluster0', [], { unreadable: new Map([['users', 'The user lacks find.']]) });
    const choice = choiceOf();
    const { rows, unlisted } = tableOf(compareInventories(source, none, choice), source, none, choice);
    expect(unlisted).toBe(0);
    expect(rows).toEqual([
      {
        kind: 'users',
        name: '',
        source: 'not readable',
        destination: null,
        action: 'notReadable',
        description: 'On cluster0: The user lacks find.',
      },
    ]);
  });
});

describe('what cannot be carried', () => {
  const sharded = { kind: 'sharded', version: [8, 0, 0], name: 'cluster1' } as const;

  it('names topology, shards without a counterpart, releases and privileges', () => {
    const source = inventoryWith(
      'cluster0',
      [zoneItem('EU', ['rs7'], ['shop.c']), { ...listedItem('querySettings', 'q', 'x') }],
      { unreadable: new Map([['roles', 'The user lacks find.']]) },
    );
    const choice = choiceOf({ carry: ['zones', 'querySettings', 'usersAndRoles'] });
    const older = { kind: 'replicaSet', version: [7, 0, 0], name: 'cluster1' } as const;
    expect(carryProblems({ source: sharded, destination: older }, { source, destination: none }, choice)).toEqual([
      'zones in carry need two sharded clusters; leave them out.',
      expect.stringContaining('no counterpart: rs7'),
      'cluster1 is older than 8.0 and has no querySettings; leave them out of carry.',
      'usersAndRoles of cluster0: The user lacks find.',
    ]);
  });

  it('is nothing without carry', () => {
    const source = inventoryWith('cluster0', [], { unreadable: new Map([['users', 'The user lacks find.']]) });
    expect(carryProblems({ source: sharded, destination: sharded }, { source, destination: none }, choiceOf())).toEqual(
      [],
    );
  });

  it('is a map with a shard that the source does not have', () => {
    const choice = choiceOf({ carry: [{ zones: { rs9: 'rs0' } }] });
    const found = { source: inventoryWith('cluster0', []), destination: none };
    expect(carryProblems({ source: sharded, destination: sharded }, found, choice)).toEqual([
      expect.stringContaining('rs9') as unknown,
    ]);
  });
});
