import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { compileNamespaceRemap, refuseUnmappable } from '../../../src/catalog/namespace-remap.js';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import type { Namespace } from '../../../src/cluster/node-client.js';
import { testSeed } from '../../../../../test/seed.js';

function namespace(text: string): Namespace {
  const [database = '', name = ''] = text.split('.');
  return { database, name };
}

/** `shop=store` for databases, `shop.orders=store.orders` for collections. */
function remapOf(...elements: string[]) {
  return compileNamespaceRemap(
    elements.map((element) => {
      const [from = '', to = ''] = element.split('=');
      const side = (text: string) => {
        const { database, name } = namespace(text);
        return name === '' ? { database } : { database, collection: name };
      };
      return { from: side(from), to: side(to) };
    }),
  );
}

function entryOf(text: string, more: Partial<CatalogEntry> = {}): CatalogEntry {
  const plain = { uuid: '00', options: {}, indexes: [], sharding: null, primaryShard: 'rs' } as const;
  return { ...namespace(text), type: 'collection', sizeBytes: 0, documentCount: 0, ...plain, indexes: [], ...more };
}

describe('a namespace on the destination', () => {
  const remap = remapOf('shop=store', 'shop.orders=archive.purchases', 'crm.people=crm.contacts');

  it.each([
    ['shop.items', 'store.items'],
    ['shop.system.js', 'store.system.js'],
    ['shop.system.buckets.orders', 'archive.system.buckets.purchases'],
    ['shop.system.buckets.items', 'store.system.buckets.items'],
    ['shop.orders', 'archive.purchases'],
    ['crm.people', 'crm.contacts'],
    ['crm.notes', 'crm.notes'],
    // No element has it to do with a collection that goes elsewhere.
    ['store.orders', 'store.orders'],
  ])('%s is %s, and back', (source, destination) => {
    const [from, to] = [source, destination].map((text) => ({
      database: text.split('.')[0] ?? '',
      name: text.slice(text.indexOf('.') + 1),
    })) as [Namespace, Namespace];
    expect(remap.toDestination(from)).toEqual(to);
    expect(remap.toSource(to)).toEqual(from);
  });

  it.each(['store.items', 'archive.purchases', 'crm.contacts'])('%s has none: another one has it', (source) => {
    expect(() => remap.toDestination(namespace(source))).toThrow(
      expect.objectContaining({ error: 'namespaceRemapInvalid' }),
    );
  });

  it.each(['shop.items', 'shop.orders', 'crm.people'])(
    '%s on the destination corresponds to nothing',
    (destination) => {
      expect(remap.toSource(namespace(destination))).toBeNull();
    },
  );

  it('may be that of another one that goes elsewhere itself', () => {
    const swapped = remapOf('a=b', 'b=a');
    expect([swapped.toDestination(namespace('a.x')), swapped.toDestination(namespace('b.x'))]).toEqual([
      namespace('b.x'),
      namespace('a.x'),
    ]);
  });

  it('belongs to one namespace of the source alone, for all elements', () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const single = fc.tuple(name, name).map((parts) => parts.join('.'));
    const pairs = (one: fc.Arbitrary<string>) =>
      fc
        .tuple(fc.uniqueArray(one, { maxLength: 3 }), fc.uniqueArray(one, { maxLength: 3 }))
        .map(([from, to]) => from.slice(0, to.length).map((left, index) => `${left}=${to[index] ?? ''}`));
    fc.assert(
      fc.property(pairs(name), pairs(single), (databases, singles) => {
        const compiled = remapOf(...databases, ...singles);
        const owners = new Map<string, string>();
        for (const source of ['a', 'b', 'c'].flatMap((left) => ['a', 'b', 'c'].map((right) => `${left}.${right}`))) {
          let found: Namespace;
          try {
            found = compiled.toDestination(namespace(source));
          } catch {
            continue;
          }
          const text = `${found.database}.${found.name}`;
          expect(owners.get(text)).toBeUndefined();
          owners.set(text, source);
          expect(compiled.toSource(found)).toEqual(namespace(source));
        }
      }),
      { seed: testSeed },
    );
  });
});

it('a filter of the source selects the same collections on the destination', () => {
  const filter = compileNamespaceFilter({
    includeNamespaces: [{ database: 'shop', collections: ['orders', 'items'] }],
    excludeNamespaces: [],
  });
  const there = remapOf('shop=store', 'shop.orders=archive.orders').filterOnDestination(filter);
  const names = ['store.items', 'archive.orders', 'store.orders', 'shop.items', 'archive.items', 'store.other'];
  expect(names.filter((text) => there.includes(namespace(text).database, namespace(text).name))).toEqual([
    'store.items',
    'archive.orders',
  ]);
  expect(['store', 'archive', 'other'].map((database) => there.mayInclude(database))).toEqual([true, true, false]);
});

describe('a view on the destination', () => {
  const remap = remapOf('shop.orders=shop.purchases', 'shop.items=store.items', 'crm=people');
  const view = (text: string, options: object) =>
    remap.onDestination(entryOf(text, { type: 'view', uuid: '', options }));
  const joins = (from: string) => [new Map([['$lookup', new Map([['from', from]])]])];

  it('reads its collection under its other name', () => {
    expect(view('shop.seen', { viewOn: 'orders', pipeline: [] })).toMatchObject({
      database: 'shop',
      name: 'seen',
      options: { viewOn: 'purchases' },
    });
  });

  it('moves with its whole database', () => {
    expect(view('crm.seen', { viewOn: 'all', pipeline: joins('other') })).toMatchObject({
      database: 'people',
      options: { viewOn: 'all' },
    });
  });

  it.each([
    ['its collection goes into another database', { viewOn: 'items', pipeline: [] }],
    ['what it joins gets another name', { viewOn: 'carts', pipeline: joins('orders') }],
  ])('is refused if %s', (_what, options) => {
    expect(() => view('shop.seen', options)).toThrow(/shop\.seen reads shop\.(items|orders)/);
  });
});

it('a name may be longer than servers take only on the source', () => {
  const long = 'x'.repeat(250);
  expect(() => refuseUnmappable(remapOf('shop=a-longer-name'), [entryOf(`shop.${long}`)])).toThrow(
    /more than 255 bytes/,
  );
  expect(() => refuseUnmappable(remapOf('shop=a-longer-name'), [entryOf(`crm.${long}`)])).not.toThrow();
});

describe('the longest name on the destination', () => {
  const sharding = { key: new Map([['meta', 1]]), unique: false, chunks: [], everMoved: false };
  const prefix = 'system.buckets.';

  it.each([
    ['a collection', '', null, 255],
    ['a sharded one', '', sharding, 235],
    ['a time series, by its own name', prefix, null, 255],
    ['a sharded one, by that of its buckets', prefix, sharding, 235 - prefix.length],
  ])('is that of %s', (_, buckets, sharded, bytesMax) => {
    const entry = { ...entryOf('shop.c', { sharding: sharded }), name: `${buckets}c` };
    const check = (bytes: number) => {
      refuseUnmappable(remapOf(`shop.c=shop.${'x'.repeat(bytes - 'shop.'.length)}`), [entry]);
    };
    expect(() => {
      check(bytesMax);
    }).not.toThrow();
    expect(() => {
      check(bytesMax + 1);
    }).toThrow(expect.objectContaining({ error: 'namespaceRemapInvalid' }));
  });
});
