import { type Document, Timestamp } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCollections } from '../../../src/catalog/create-collections.js';
import { planDestination } from '../../../src/catalog/destination-plan.js';
import type { CatalogEntry } from '../../../src/catalog/namespace.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { readCatalog, readCollectionByUuid } from '../../../src/catalog/read-catalog.js';
import type { NodeClient } from '../../../src/cluster/node-client.js';
import { applyDdlChange, type ApplyDdlDependencies } from '../../../src/ddl/apply-ddl-change.js';
import type { DdlEntry } from '../../../src/store/ddl-journal.js';
import { pairsIn } from '../../unit/ddl/pairs-in.js';
import { openTestCluster, type TestCluster } from '../catalog/clusters.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

const filter = compileNamespaceFilter({ includeNamespaces: [{ database: 'shop' }], excludeNamespaces: [] });
const { signal } = new AbortController();
/** Far more commands than any change needs. */
const stepsMax = 200;

let source: TestCluster;
let destination: TestCluster;
let entries: Map<string, CatalogEntry>;
/** Commands to the destination that are still answered; the leader dies at the next one, which is executed. */
let stepsLeft = Infinity;

/** A client of a server that stops answering at some step. */
function mortal(nodeClient: NodeClient): NodeClient {
  const step = <Result>(result: Promise<Result>): Promise<Result> => {
    stepsLeft -= 1;
    return stepsLeft < 0 ? result.then(() => Promise.reject(new Error('killed'))) : result;
  };
  return {
    label: nodeClient.label,
    command: (...call) => step(nodeClient.command(...call)),
    openCursor: (...call) => step(nodeClient.openCursor(...call)),
    write: (...call) => nodeClient.write(...call),
    close: () => nodeClient.close(),
  };
}

beforeAll(async () => {
  source = await openTestCluster('cluster0', 2);
  destination = await openTestCluster('cluster1', 2, { wrap: mortal });
  const admin = source.client.db('admin');
  await admin.command({ enableSharding: 'shop' });
  for (const name of ['orders', 'fresh'])
    await admin.command({ shardCollection: `shop.${name}`, key: { _id: 'hashed' }, numInitialChunks: 2 });
  const shop = source.client.db('shop');
  await shop.createCollection('plain', { validator: { a: 1 } });
  await shop.collection('fresh').createIndexes([
    { key: { a: 1 }, name: 'a_1' },
    { key: { b: 1 }, name: 'b_1', expireAfterSeconds: 1000 },
  ]);
  entries = new Map((await readCatalog(source.cluster, filter, signal)).map((entry) => [entry.name, entry]));
});

afterAll(async () => {
  await source[Symbol.asyncDispose]();
  await destination[Symbol.asyncDispose]();
});

function entry(name: string): CatalogEntry {
  const found = entries.get(name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
}

function planOf(one: CatalogEntry[]) {
  return planDestination(one, {
    source: source.cluster,
    destination: destination.cluster,
    indexScope: 'all',
    remap: noRemap,
  });
}

const confirm = (): Promise<void> => Promise.resolve();

/** The stored UUIDs, which outlive a leader. */
async function begin(): Promise<Map<string, string>> {
  stepsLeft = Infinity;
  await destination.client.db('shop').dropDatabase();
  const making = { destination: destination.cluster, signal, confirm };
  const made = await createCollections(making, planOf([entry('orders'), entry('plain')]));
  return new Map(made.map(({ sourceUuid, destinationUuid }) => [sourceUuid, destinationUuid]));
}

async function depsOf(pairs: Map<string, string>): Promise<ApplyDdlDependencies> {
  return {
    destination: destination.cluster,
    pairs: await pairsIn(pairs),
    filter,
    remap: noRemap,
    confirm,
    readSource: (database, uuid, each) => readCollectionByUuid(source.cluster, database, uuid, each),
    plan: (one) => Promise.resolve(planOf([one])),
    entryOf: (uuid) => [...entries.values()].find((one) => one.uuid === uuid) ?? null,
  };
}

/**
 * Names, options, shard keys, chunks and indexes of the destination, and whether each collection is the recorded one.
 * Chunk times differ between runs and are left out.
 */
async function shown(pairs: Map<string, string>): Promise<Document[]> {
  const recorded = new Set(pairs.values());
  const found = await readCatalog(destination.cluster, filter, signal);
  return found.map(({ name, uuid, options, indexes, sharding }) => ({
    name,
    isRecorded: recorded.has(uuid),
    options,
    indexes,
    key: sharding?.key,
    chunks: sharding?.chunks.map(({ min, max, shard }) => ({ min, max, shard })),
  }));
}

it.each<[string, Pick<DdlEntry, 'operation'>, string, string | null, string | null, string[]]>([
  ['a drop', { operation: 'drop' }, 'orders', null, null, ['plain']],
  ['a rename over another collection', { operation: 'rename' }, 'orders', 'plain', 'plain', ['plain']],
  [
    'a creation in the place of another collection',
    { operation: 'create' },
    'fresh',
    null,
    'plain',
    ['fresh', 'orders'],
  ],
  ['a restart', { operation: 'restart' }, 'orders', null, null, ['orders', 'plain']],
])('%s is completed, at whatever step a leader dies', async (_what, { operation }, name, to, over, names) => {
  const { uuid } = entry(name);
  const target = to === null ? null : { database: 'shop', name: to };
  const droppedUuid = over === null ? null : entry(over).uuid;
  const ddlChange: DdlEntry = {
    ordinal: 1,
    operation,
    uuid,
    database: 'shop',
    name,
    to: target,
    droppedUuid,
    time: new Timestamp(1n),
    state: 'undone',
    entry: null,
  };
  const undisturbed = await begin();
  await applyDdlChange(await depsOf(undisturbed), ddlChange, signal);
  const expected = await shown(undisturbed);
  expect(expected.map((row) => row.name as string)).toEqual(names);
  expect(expected.every(({ isRecorded }) => isRecorded === true)).toBe(true);

  for (let steps = 0; ; steps += 1) {
    const pairs = await begin();
    stepsLeft = steps;
    const died = await applyDdlChange(await depsOf(pairs), ddlChange, signal).then(
      () => false,
      (error: unknown) => (error as Error).message === 'killed',
    );
    stepsLeft = Infinity;
    if (!died) break;
    expect(steps).toBeLessThan(stepsMax);
    const result = await applyDdlChange(await depsOf(pairs), ddlChange, signal);
    expect({ steps, shown: await shown(pairs) }).toEqual({ steps, shown: expected });
    expect(result?.name ?? null).toBe(operation === 'drop' ? null : (to ?? name));
  }
});
