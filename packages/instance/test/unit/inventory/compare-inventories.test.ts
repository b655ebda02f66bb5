import { describe, expect, it } from 'vitest';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { CarryChoice, carryProblems } from '../../../src/inventory/carry-choice.js';
import { compareInventories, itemsToCarry, leftBehind, tableOf } from '../../../src/inventory/compare-inventories.js';
import { type ClusterInventory, type Item, listedItem } from '../../../src/inventory/item.js';
import { balancingItem, rangesItem, zoneItem } from '../../../src/inventory/read/sharding-settings.js';

const choiceOf = (body: Partial<StartRequestBody> = {}, isReversed = false): CarryChoice =>
  new CarryChoice(parseStartRequest({ source: 'cluster0', destination: 'cluster1', ...body }), isReversed);

const empty = {
  version: [8, 0, 10] as const,
  unreadable: new Map(),
  parameters: new Set<string>(),
  logins: [],
};

function inventoryWith(cluster: string, items: Item[], more: Partial<ClusterInventory> = {}): ClusterInventory {
  return { cluster, topology: 'sharded', shardIds: ['rs0', 'rs1'], items, ...empty, ...more };
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

  it('what the destination cannot have stays behind with the reason, asked for or not', () => {
    const choice = choiceOf({ carry: ['defaultConcerns', 'clusterParameters', 'querySettings'] });
    const parameter = (name: string): Item => ({
      ...user(name, null),
      kind: 'clusterParameters',
      payload: { type: 'clusterParameter', parameter: name, value: {} },
    });
    const writeConcern = (w: unknown): Item => ({
      ...user('defaultWriteConcern', null, String(w)),
      kind: 'defaultConcerns',
      payload: { type: 'defaultConcern', set: { defaultWriteConcern: { w } } },
    });
    const settings: Item = {
      ...user('shop.c', null),
      kind: 'querySettings',
      payload: { type: 'querySettings', query: Buffer.from(''), settings: Buffer.from('') },
    };
    const source = inventoryWith('cluster0', [
      ...[parameter('known'), parameter('later'), writeConcern('twoSites'), settings],
    ]);
    const there = inventoryWith('cluster1', [writeConcern(1)], { parameters: new Set(['known']), version: [7, 0, 0] });
    const rows = compareInventories(source, there, choice);
    expect(itemsToCarry(rows).map(({ name }) => name)).toEqual(['known']);
    const left = ['defaultConcerns defaultWriteConcern', 'clusterParameters later', 'querySettings shop.c'];
    expect(leftBehind(rows, choice)).toEqual(left);
    const table = tableOf(rows, source, there, choice).rows;
    expect(table.map(({ action, description }) => [action, description])).toEqual([
      [
        'differs',
        expect.stringMatching(/twoSites is a mode of the replica sets.*those of cluster1 have it/) as unknown,
      ],
      ['carried', 'The commit carries it.'],
      ['leftBehind', 'It stays behind: the release of cluster1 does not have later.'],
      ['leftBehind', 'It stays behind: the release of cluster1 has no query settings.'],
    ]);
    for (const w of ['majority', 2])
      expect(actions([writeConcern(w)], [], choice)).toEqual(['defaultConcerns defaultWriteConcern: carried']);
  });

  it('zones of several shards may meet on one', () => {
    const choice = choiceOf({ carry: [{ zones: { rs0: 'a', rs1: 'b', rs2: 'b' } }] });
    expect(choice.onDestination(zoneItem('EU', ['rs1', 'rs2'], [])).payload).toEqual({
      type: 'zone',
      zone: 'EU',
      shards: ['b'],
    });
  });

  it('a time series has the name that users know, and commands that of its buckets', () => {
    const namespace = 'shop.system.buckets.weather';
    const items = [rangesItem(namespace, [range]), balancingItem(namespace, true, null, true)];
    const includeNamespaces = [{ database: 'shop', collections: ['weather'] }];
    const carry = ['zones' as const, 'balancing' as const];
    const rows = compareInventories(inventoryWith('cluster0', items), none, choiceOf({ carry, includeNamespaces }));
    expect(rows.map(({ name, action }) => [name, action])).toEqual([
      ['shop.weather', 'carried'],
      ['shop.weather', 'carried'],
    ]);
    expect(itemsToCarry(rows).map(({ payload }) => payload)).toMatchObject([{ namespace }, { namespace }]);
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
  const sharded = { kind: 'sharded' } as const;

  it('names topology, shards without a counterpart and privileges', () => {
    const source = inventoryWith('cluster0', [zoneItem('EU', ['rs7'], ['shop.c'])], {
      unreadable: new Map([['roles', 'The user lacks find.']]),
    });
    const choice = choiceOf({ carry: ['zones', 'usersAndRoles'] });
    const set = { kind: 'replicaSet' } as const;
    expect(carryProblems({ source: sharded, destination: set }, { source, destination: none }, choice)).toEqual([
      'zones in carry need two sharded clusters; leave them out.',
      expect.stringContaining('no counterpart: rs7'),
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
