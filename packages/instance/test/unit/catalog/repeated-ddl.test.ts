import { BSON, type Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { createCollection, createCollections } from '../../../src/catalog/create-collections.js';
import { type CollectionPlan, planDestination } from '../../../src/catalog/destination-plan.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { addZones } from '../../../src/catalog/place-chunks.js';
import { readCatalog } from '../../../src/catalog/read-catalog.js';
import type { CallOptions, ClusterClient, NodeClient } from '../../../src/cluster/node-client.js';
import { fakeCluster, serverError } from '../fake-node-client.js';
import { FakeCatalogServer } from './fake-catalog-server.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

const everything = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });
const { signal } = new AbortController();
const confirm = (): Promise<void> => Promise.resolve();
let server: FakeCatalogServer;

beforeEach(() => {
  server = new FakeCatalogServer(['a', 'b']);
});

/**
 * A router that executes a command and answers as if it was repeated: a step-down lost the first reply, and the second
 * says that the object exists.
 */
function answeringAgain(commandName: string, code: number): NodeClient {
  const { client } = server;
  const command = async (database: string, sent: Document, options: CallOptions): Promise<Document> => {
    const reply = await client.command(database, sent, options);
    if (commandName in sent) throw serverError(code, 'AlreadyThere');
    return reply;
  };
  return {
    label: client.label,
    command,
    openCursor: client.openCursor.bind(client),
    write: client.write.bind(client),
    close: () => Promise.resolve(),
  };
}

async function planOf(
  source: FakeCatalogServer,
): Promise<{ plans: CollectionPlan[]; destination: (router: NodeClient) => ClusterClient }> {
  const destination = (router: NodeClient): ClusterClient =>
    fakeCluster({ router, shardIds: ['a', 'b'], clusterId: '0b' });
  const sourceCluster = fakeCluster({ router: source.client, shardIds: ['a', 'b'] });
  const catalog = await readCatalog(sourceCluster, everything, signal);
  const plan = planDestination(catalog, {
    source: sourceCluster,
    destination: destination(server.client),
    indexScope: 'all',
    remap: noRemap,
  });
  return { plans: plan.collections, destination };
}

async function made(source: FakeCatalogServer, router: NodeClient): Promise<void> {
  const { plans, destination } = await planOf(source);
  for (const plan of plans) await createCollection({ destination: destination(router), signal, confirm }, plan);
}

function sourceWith(add: (source: FakeCatalogServer) => void): FakeCatalogServer {
  const source = new FakeCatalogServer(['a', 'b']);
  add(source);
  return source;
}

describe('after a step-down', () => {
  it('accepts a collection that an earlier attempt created', async () => {
    await made(
      sourceWith((source) => source.add('app.plain')),
      answeringAgain('create', 48),
    );
    expect(server.databases.get('app')?.collections.has('plain')).toBe(true);
  });

  it('accepts an index that an earlier attempt built', async () => {
    await made(
      sourceWith((source) => source.add('app.plain', { indexes: [{ v: 2, key: { a: 1 }, name: 'a_1' }] })),
      answeringAgain('createIndexes', 68),
    );
    expect(
      server.databases
        .get('app')
        ?.collections.get('plain')
        ?.indexes.map(({ name }) => name as string),
    ).toEqual(['_id_', 'a_1']);
  });

  it('accepts a collection that an earlier attempt sharded', async () => {
    const chunks = [{ min: { _id: new BSON.MinKey() }, max: { _id: new BSON.MaxKey() }, shard: 'b' }];
    const source = sourceWith((one) => one.addSharded('app.sharded', { _id: 1 }, false, chunks));
    await addZones(fakeCluster({ router: server.client, shardIds: ['a', 'b'] }), signal);
    await made(source, answeringAgain('shardCollection', 23));
    expect(server.sharded.has('app.sharded')).toBe(true);
    expect(server.tags).toEqual([]);
  });
});

it('refreshes routing after all collections were placed', async () => {
  const chunks = [{ min: { _id: new BSON.MinKey() }, max: { _id: new BSON.MaxKey() }, shard: 'b' }];
  const source = sourceWith((one) => one.addSharded('app.sharded', { _id: 1 }, false, chunks));
  const { plans, destination } = await planOf(source);
  await createCollections(
    { destination: destination(server.client), signal, confirm },
    { databases: new Map([['app', 'a']]), collections: plans, warnings: [] },
  );
  const names = server.client.sent.map(({ command }) => Object.keys(command)[0]);
  expect(names.lastIndexOf('flushRouterConfig')).toBeGreaterThan(names.lastIndexOf('shardCollection'));
});
