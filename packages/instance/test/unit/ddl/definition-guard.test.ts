import { describe, expect, it } from 'vitest';
import { refuseCatalogChanges, refuseDefinition, refuseNewCollection } from '../../../src/ddl/definition-guard.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import type { CatalogChange } from '../../../src/catalog/catalog-changes.js';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';

const filter = compileNamespaceFilter(
  parseStartRequest({
    source: 'cluster0',
    destination: 'cluster1',
    includeNamespaces: [{ database: 'shop', collections: ['orders'] }, { database: 'all' }],
    verification: { enabled: false },
  }),
);

const outside = { database: 'other', name: 'x' };
const inside = { database: 'shop', name: 'orders' };

describe('a definition event', () => {
  it.each([
    ['a drop of what is migrated', { operation: 'drop', ...inside, to: null }],
    ['a rename within what is migrated', { operation: 'rename', ...inside, to: { database: 'all', name: 'x' } }],
    ['a rename out of it', { operation: 'rename', ...inside, to: outside }],
    ['a rename into it', { operation: 'rename', ...outside, to: inside }],
    ['dropDatabase of an included database', { operation: 'dropDatabase', database: 'all', name: '', to: null }],
    ['dropDatabase of a database with an included collection', { operation: 'dropDatabase', database: 'shop', name: '', to: null }],
  ])('that is %s ends the migration by name', (_what, event) => {
    expect(() => refuseDefinition(event, filter)).toThrow(expect.objectContaining({ error: 'ddlNotSupported' }));
  });

  it.each([
    ['a drop of another collection', { operation: 'drop', database: 'shop', name: 'others', to: null }],
    ['a rename elsewhere', { operation: 'rename', ...outside, to: { database: 'other', name: 'y' } }],
    ['dropDatabase of another database', { operation: 'dropDatabase', database: 'other', name: '', to: null }],
    ['a notice of a shard itself', { operation: 'kNewShardDetected', database: '', name: '', to: null }],
  ])('that is %s concerns nobody', (_what, event) => {
    expect(() => refuseDefinition(event, filter)).not.toThrow();
  });

  it('is described by its namespaces', () => {
    expect(() => refuseDefinition({ operation: 'rename', ...inside, to: outside }, filter)).toThrow(/rename of shop\.orders to other\.x/);
    expect(() => refuseNewCollection('shop', 'orders')).toThrow(/shop\.orders was created/);
  });
});

describe('changes between two readings of the catalog', () => {
  const changeOf = (kind: CatalogChange['kind']): CatalogChange => ({ kind, entry: inside, before: inside }) as CatalogChange;

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
