import { describe, expect, it } from 'vitest';
import { refuseCatalogChanges } from '../../../src/ddl/ddl-guard.js';
import type { CatalogChange } from '../../../src/catalog/compare-catalogs.js';

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
