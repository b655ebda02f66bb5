import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import type { Document } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { createLogger } from '../../../src/logging/logger.js';
import { runInstance } from '../../../src/process/instance-process.js';
import { Fixture } from './fixture.js';
import { ServedInstance } from './served-instance.js';
import { startBody } from './start-conditions.js';
import { needs } from '../../../../../e2e/requirements.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet');
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

describe('filters', () => {
  const namespaces = [
    'shop.orders',
    'shop.orders_old',
    'shop.items',
    'shop.ITEMS2',
    'crm.people',
    'crm.notes',
    'crm_archive.people',
    'web.hits',
  ];

  async function loadNamespaces(): Promise<void> {
    for (const namespace of namespaces) {
      const [database = '', name = ''] = namespace.split('.');
      await fixture.cluster0.client.db(database).collection(name).insertOne({ namespace });
    }
  }

  async function migrated(): Promise<string[]> {
    const found: string[] = [];
    for (const database of await fixture.cluster1.databases()) {
      if (database === 'convoy_metadata') continue;
      const db = fixture.cluster1.client.db(database);
      for (const { name } of await db.listCollections().toArray()) {
        expect(await db.collection(name).find().toArray()).toMatchObject([{ namespace: `${database}.${name}` }]);
        found.push(`${database}.${name}`);
      }
    }
    return found.sort();
  }

  it.each([
    [
      'a database: all its collections, and no other database',
      { includeNamespaces: [{ database: 'crm' }] },
      ['crm.people', 'crm.notes'],
    ],
    [
      'collections of a database: only those',
      { includeNamespaces: [{ database: 'shop', collections: ['orders', 'missing'] }] },
      ['shop.orders'],
    ],
    [
      'collections by pattern',
      { includeNamespaces: [{ database: 'shop', collectionsRegex: { pattern: '^items', options: 'i' } }] },
      ['shop.items', 'shop.ITEMS2'],
    ],
    [
      'collections and a pattern: both',
      { includeNamespaces: [{ database: 'shop', collections: ['items'], collectionsRegex: { pattern: '_old$' } }] },
      ['shop.items', 'shop.orders_old'],
    ],
    [
      'databases by pattern',
      { includeNamespaces: [{ databaseRegex: { pattern: '^crm' }, collections: ['people'] }] },
      ['crm.people', 'crm_archive.people'],
    ],
    [
      'less collections by name and pattern',
      {
        excludeNamespaces: [
          { database: 'shop', collections: ['orders'], collectionsRegex: { pattern: '^ITEMS' } },
          { databaseRegex: { pattern: 'crm|web' } },
        ],
      },
      ['shop.items', 'shop.orders_old'],
    ],
    [
      'applies includes first, then excludes',
      {
        includeNamespaces: [{ database: 'shop' }],
        excludeNamespaces: [{ database: 'shop', collectionsRegex: { pattern: 'orders' } }],
      },
      ['shop.items', 'shop.ITEMS2'],
    ],
  ])('migrate what is selected: %s', async (_, filter, expected) => {
    await loadNamespaces();
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody(filter));
    await instance.untilCanCommit();
    expect(await migrated()).toEqual([...expected].sort());
  });

  /** What the log says about the matches of a start that includes one database. */
  async function matchedLine(database: string): Promise<Document | undefined> {
    const lines: Document[] = [];
    const logger = createLogger({
      verbosity: 'INFO',
      stream: { write: (line) => void lines.push(JSON.parse(line) as Document) },
    });
    const { connectionString: cluster0 } = fixture.cluster0;
    const { connectionString: cluster1 } = fixture.cluster1;
    const running = await runInstance(parseInstanceConfig({ flags: { cluster0, cluster1, port: 0 } }), {
      fleet: new LoneFleet(),
      logger,
    });
    await using instance = new ServedInstance(running.url, () => running.close());
    await instance.untilReady();
    await instance.accepted('start', startBody({ includeNamespaces: [{ database }] }));
    return lines.find(({ event }) => event === 'filterMatched');
  }

  it('are logged with what they match', async () => {
    await loadNamespaces();
    expect(await matchedLine('crm')).toMatchObject({ matched: 2, namespaces: ['crm.notes', 'crm.people'] });
  });

  it('are logged with a time series under the name of its users', needs({ version: [6, 0] }), async () => {
    await fixture.cluster0.client.db('plant').createCollection('readings', { timeseries: { timeField: 'at' } });
    expect(await matchedLine('plant')).toMatchObject({ matched: 1, namespaces: ['plant.readings'] });
  });

  it('ignores what appears outside of the filter during the migration', async () => {
    await loadNamespaces();
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody({ includeNamespaces: [{ database: 'crm' }] }));
    await instance.untilCanCommit();
    await fixture.cluster0.client.db('later').collection('c').insertOne({});
    await fixture.cluster0.client.db('shop').collection('orders').drop();
    await fixture.cluster0.client.db('crm').collection('people').insertOne({ namespace: 'crm.people' });
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    expect((await fixture.cluster1.databases()).sort()).toEqual(['convoy_metadata', 'crm']);
    expect(await fixture.cluster1.client.db('crm').collection('people').countDocuments()).toBe(2);
  });
});
