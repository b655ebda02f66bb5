import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { BSON, type Document } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { planDestination } from '../../../../src/catalog/destination-plan.js';
import type { CatalogEntry } from '../../../../src/catalog/namespace.js';
import { recreateCapped } from '../../../../src/lifecycle/task/copy-plans.js';
import { fakeCluster, FakeNodeClient, serverError } from '../../fake-node-client.js';
import { never, once } from '../../model/parts.js';
import { noRemap } from '../../../../src/catalog/namespace-remap.js';

const collectionUuidMismatchCode = 361;
const options = { capped: true, size: 4096 };
const entry: CatalogEntry = {
  database: 'shop',
  name: 'log',
  type: 'collection',
  uuid: '0a'.repeat(16),
  options,
  indexes: [{ v: 2, key: { _id: 1 }, name: '_id_' }],
  sharding: null,
  primaryShard: 'rs',
  sizeBytes: 0,
  documentCount: 0,
};

/** UUIDs of the collection on the destination; the last one is its present one. */
let uuids: number[];
let isThere: boolean;
let client: FakeNodeClient;
/** How often the epoch can be confirmed before another process takes the task. */
let confirmations: number;

beforeEach(() => {
  [uuids, isThere, confirmations] = [[1], true, Infinity];
  client = new FakeNodeClient('router', {
    listCollections: () => ({
      cursor: {
        firstBatch: isThere ? [{ name: 'log', type: 'collection', options, info: { uuid: uuidOf(uuids.at(-1)) } }] : [],
      },
    }),
    listIndexes: () => ({ cursor: { firstBatch: entry.indexes } }),
    drop: (_database, command) => drop(command),
    create: () => {
      uuids.push(uuids.length + 1);
      isThere = true;
      return {};
    },
  });
});

function uuidOf(number = 0): BSON.UUID {
  return new BSON.UUID(String(number).padStart(32, '0'));
}

function drop({ collectionUUID }: Document): Document {
  if (!isThere) throw serverError(26, 'NamespaceNotFound');
  if (collectionUUID !== undefined && !uuidOf(uuids.at(-1)).equals(collectionUUID as BSON.UUID))
    throw serverError(collectionUuidMismatchCode, 'CollectionUUIDMismatch');
  isThere = false;
  return {};
}

function recreate(version: [number, number, number] = [6, 0, 0]): Promise<void> {
  const destination = fakeCluster({ router: client, kind: 'replicaSet', shardIds: ['rs'], version });
  const [plan] = planDestination([entry], {
    source: destination,
    destination,
    indexScope: 'all',
    remap: noRemap,
  }).collections;
  if (plan === undefined) throw new Error('nothing is planned');
  const confirm = (): Promise<void> => {
    confirmations -= 1;
    return confirmations < 0 ? Promise.reject(new ConvoyError('staleEpoch')) : Promise.resolve();
  };
  return recreateCapped({ destination, confirm }, plan, once, never);
}

function changes(): string[] {
  return client.sent
    .flatMap(({ command }) => Object.keys(command).slice(0, 1))
    .filter((name) => name === 'drop' || name === 'create');
}

describe('a capped collection that is copied again', () => {
  it.each([[[5, 0, 0]], [[6, 0, 0]]] as [number, number, number][][])('is empty then (%j)', async (version) => {
    await recreate(version);
    expect([uuids, isThere, changes()]).toEqual([[1, 2], true, ['drop', 'create']]);
  });

  it('is created where an earlier attempt has only dropped it', async () => {
    isThere = false;
    await recreate();
    expect(changes()).toEqual(['create']);
  });

  it('stays as it is when another process owns the task, whose copy it may contain', async () => {
    confirmations = 0;
    await expect(recreate()).rejects.toMatchObject({ error: 'staleEpoch' });
    expect(changes()).toEqual([]);
  });

  it('is not created by a process that was replaced after it had dropped it', async () => {
    confirmations = 1;
    await expect(recreate()).rejects.toMatchObject({ error: 'staleEpoch' });
    expect(changes()).toEqual(['drop']);
  });

  it('is not dropped by an earlier command that a router carries out late', async () => {
    const sent = (): Document => client.sent.find(({ command }) => 'drop' in command)?.command ?? {};
    await recreate();
    expect(() => drop(sent())).toThrow('CollectionUUIDMismatch');
    expect([uuids, isThere]).toEqual([[1, 2], true]);
  });
});
