import { readFileSync } from 'node:fs';
import { BSON } from 'mongodb';
import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { compareCatalogs } from '../../../src/catalog/compare-catalogs.js';
import { createCollections } from '../../../src/catalog/create-collections.js';
import { planDestination } from '../../../src/catalog/destination-plan.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { readCatalog, readCatalogReport } from '../../../src/catalog/read-catalog.js';
import { restoreAttributes } from '../../../src/catalog/index-attributes.js';
import type { ClusterClient } from '../../../src/cluster/node-client.js';
import { FakeNodeClient, fakeCluster, serverError } from '../fake-node-client.js';
import type { Handler } from '../fake-node-client.js';
import { FakeCatalogServer } from './fake-catalog-server.js';
import { boundsOf, keyPattern } from './as-read.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

interface Step {
  on?: string;
  db?: string;
  command?: Document;
  reply?: Document;
  error?: { code: number; codeName: string };
}

/** Replies of a real 5.0.7 to the commands that read a catalog. */
const steps = readFileSync(new URL('../../../../simulator/corpus/02-catalog.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => recordedStep(line));

/** Converts canonical extended JSON to what the driver returns: Longs only where they are needed. */
function recordedStep(line: string): Step {
  const step = BSON.EJSON.parse(line, { relaxed: false }) as Document;
  return BSON.deserialize(BSON.serialize(step), { promoteLongs: false });
}

const everything = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });
const { signal } = new AbortController();
const confirm = (): Promise<void> => Promise.resolve();

/** Commands whose reply depends only on their first field (and, in the config database, on the filter). */
function recordedClient(node: string): FakeNodeClient {
  const answer: Handler = (database, command) => {
    const [name, value] = Object.entries<unknown>(command)[0] ?? ['', null];
    if (database === 'config')
      return { cursor: { firstBatch: recordedConfig(String(value), command.filter as Document) } };
    const step = steps.find(
      ({ on, db, command: sent }) =>
        on === node &&
        db === database &&
        sent !== undefined &&
        name in sent &&
        (typeof value !== 'string' || sent[name] === value) &&
        !('filter' in sent),
    );
    if (step?.error !== undefined) throw serverError(step.error.code, step.error.codeName);
    if (step?.reply !== undefined) return step.reply;
    // Not recorded for every collection.
    if (name === 'listIndexes') return { cursor: { firstBatch: [{ v: 2, key: { _id: 1 }, name: '_id_' }] } };
    throw serverError(13, 'Unauthorized');
  };
  return new FakeNodeClient(
    node,
    Object.fromEntries(
      ['listDatabases', 'listCollections', 'listIndexes', 'dataSize', 'find'].map((name) => [name, answer]),
    ),
  );
}

function recordedConfig(collection: string, filter: Document): Document[] {
  const step = steps.find(({ db, command }) => db === 'config' && command?.find === collection);
  const rows = ((step?.reply?.cursor as Document | undefined)?.firstBatch ?? []) as Document[];
  const text = (value: unknown): string => BSON.EJSON.stringify({ value });
  return rows.filter((row) => Object.entries(filter).every(([field, value]) => text(row[field]) === text(value)));
}

function recordedCluster(): ClusterClient {
  const shards = new Map(['shard0', 'shard1'].map((id) => [id, recordedClient(id)]));
  return fakeCluster({ router: recordedClient('router'), shards });
}

describe('a catalog of a real 5.0.7', () => {
  it('is read completely: every kind of collection, its indexes and its shard key', async () => {
    const report = await readCatalogReport(recordedCluster(), everything, signal);
    expect(report.timeSeries).toEqual(['appdb.series']);
    expect(report.inconsistentIndexes).toEqual([]);
    expect(report.catalog.map((entry) => entry.name)).toEqual([
      'capped',
      'collated',
      'collsh',
      'compound',
      'engine',
      'hashed',
      'plain',
      'ranged',
      'uniq',
      'validated',
      'view1',
    ]);
    const byName = new Map(report.catalog.map((entry) => [entry.name, entry]));
    expect(byName.get('plain')?.uuid).toBe('2dff5b069850408b9fa9223eb26f814a');
    expect(byName.get('plain')?.indexes).toHaveLength(13);
    expect(byName.get('ranged')).toMatchObject({ sizeBytes: 34_800, documentCount: 400, primaryShard: 'shard0' });
    expect(byName.get('ranged')?.sharding?.chunks.map((chunk) => chunk.shard)).toEqual([
      'shard0',
      'shard0',
      'shard1',
      'shard0',
    ]);
    expect(byName.get('hashed')?.sharding?.chunks.map(boundsOf)[1]?.max._id).toBeInstanceOf(BSON.Long);
    expect(byName.get('uniq')?.sharding).toMatchObject({ key: keyPattern({ email: 1 }), unique: true });
    expect(byName.get('view1')).toMatchObject({ type: 'view', options: { viewOn: 'plain' } });
  });

  it('can be recreated and ends up the same', async () => {
    const source = recordedCluster();
    const server = new FakeCatalogServer(['shard0', 'shard1']);
    const destination = fakeCluster({ router: server.client, clusterId: '0b' });
    const catalog = await readCatalog(source, everything, signal);
    const plan = planDestination(catalog, { source, destination, indexScope: 'all', remap: noRemap });
    expect(plan.warnings.map((warning) => warning.name)).toEqual(['shardKeyIndexAdded', 'shardKeyIndexAdded']);
    await createCollections({ destination, signal, confirm }, plan);
    await restoreAttributes({ destination, signal, confirm }, plan);
    const made = await readCatalog(destination, everything, signal);
    const differences = compareCatalogs(catalog, made, {
      form: 'final',
      indexScope: 'all',
      remap: noRemap,
      destination: { kind: 'sharded', version: [5, 0, 7] },
    });
    expect(differences).toEqual([]);
    const ranges = (name: string, cluster: typeof catalog): unknown =>
      cluster
        .find((entry) => entry.name === name)
        ?.sharding?.chunks.map(({ min, max, shard }) => ({ min, max, shard }));
    for (const name of ['ranged', 'hashed', 'compound', 'uniq']) {
      expect(BSON.EJSON.stringify(ranges(name, made)), name).toBe(BSON.EJSON.stringify(ranges(name, catalog)));
    }
  });
});
