import { expect, test } from 'vitest';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { describeLeftOut } from '../../../src/catalog/unsupported-collections.js';

function view(name: string, options: CatalogEntry['options'], database = 'app'): CatalogEntry {
  const size = { sizeBytes: 0, documentCount: 0 };
  return { database, name, type: 'view', uuid: '', options, indexes: [], sharding: null, primaryShard: 'a', ...size };
}

const joining = [new Map([['$lookup', new Map([['from', 'series']])]])];

test('time series that appeared are named with the views that read them, and no others', () => {
  const catalog = [
    view('on', { viewOn: 'series', pipeline: [] }),
    view('with', { viewOn: 'c', pipeline: joining }),
    view('other', { viewOn: 'c', pipeline: [] }),
    view('elsewhere', { viewOn: 'series', pipeline: [] }, 'other'),
  ];
  const description = describeLeftOut({ timeSeries: ['app.series'], catalog });
  expect(description).toMatch(/not migrated: app\.series\. .* read of them: app\.on, app\.with\. .*mongodump/);
});

test('without time series there is nothing to say', () => {
  expect(describeLeftOut({ timeSeries: [], catalog: [view('on', { viewOn: 'series', pipeline: [] })] })).toBe(null);
});
