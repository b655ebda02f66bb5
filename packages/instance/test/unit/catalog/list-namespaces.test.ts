import { describe, expect, it } from 'vitest';
import { LISTED_COLLECTIONS_MAX, sourceListingSchema } from '@convoy/api/fleet/published-details';
import { listSource } from '../../../src/catalog/list-namespaces.js';
import { FakeCatalogServer } from './fake-catalog-server.js';

const { signal } = new AbortController();

describe('listSource', () => {
  it('lists collections with their sizes, the largest first, without views', async () => {
    const server = new FakeCatalogServer(['shard0']);
    server.add('shop.small', { documents: [{}] });
    server.add('shop.large', { documents: [{}, {}, {}] });
    server.add('shop.view', { type: 'view', options: { viewOn: 'small', pipeline: [] } });
    const { rows, unlisted } = await listSource(server.client, signal);
    expect(rows.map(({ database, collection, documents }) => [database, collection, documents])).toEqual([
      ['shop', 'large', 3],
      ['shop', 'small', 1],
    ]);
    expect(unlisted).toBe(0);
  });

  it('reads no sizes beyond its bound, and counts what it does not list', async () => {
    const server = new FakeCatalogServer(['shard0']);
    for (let at = 0; at < LISTED_COLLECTIONS_MAX + 50; at += 1) server.add(`shop.c${at}`);
    const { rows, unlisted } = await listSource(server.client, signal);
    expect([rows.length, unlisted]).toEqual([LISTED_COLLECTIONS_MAX, 50]);
    expect(sourceListingSchema.shape.rows.safeParse(rows).success).toBe(true);
  });
});
