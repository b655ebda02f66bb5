import { UUID, type MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { migratorCredentials } from '@convoy/testbed/cluster/access-control';
import { patience_ms } from '../../test/patience.js';
import { Clusters, defaultStart, untilCanCommit, untilCommitted } from '../fleet.js';
import { needs } from '../requirements.js';
import { real80, twoShards } from './real-shapes.js';

const refused = {
  error: 'collectionNotSupported',
  errorDescription: expect.stringMatching(/queryable encryption: e2e\.secret\. .*Exclude them/s) as unknown,
};

/** The driver also creates the two collections that hold its state, and the index. */
async function createEncrypted(client: MongoClient): Promise<void> {
  const field = { path: 'name', bsonType: 'string', keyId: new UUID(), queries: { queryType: 'equality' } };
  await client.db('e2e').createCollection('secret', { encryptedFields: { fields: [field] } });
}

test(
  'a start is refused by the name of an encrypted collection, and accepted without it (real servers from 8.0)',
  needs(real80),
  async () => {
    await using clusters = await Clusters.little({ ...twoShards, withUsers: true });
    await createEncrypted(clusters.clients.source);
    const shards = { cluster0: migratorCredentials };
    await using instance = await clusters.startLoneInstanceHere({ sourceAccess: 'direct', shards });
    await expect(instance.client.start(defaultStart)).rejects.toMatchObject(refused);
    const excludeNamespaces = [{ database: 'e2e', collections: ['secret'] }];
    await instance.client.start({ ...defaultStart, excludeNamespaces });
    await untilCanCommit(instance.client);
    await instance.client.commit();
    await untilCommitted(instance.client);
    const there = await clusters.clients.destination.db('e2e').listCollections({}, { nameOnly: true }).toArray();
    // The two with its state are like any others.
    expect(there.map(({ name }) => name).sort()).toEqual([
      'enxcol_.secret.ecoc',
      'enxcol_.secret.esc',
      'names',
      'orders',
    ]);
    expect((await clusters.compare()).differences).toEqual([expect.stringMatching(/^e2e\.secret is missing/)]);
  },
);

test.each(['direct', 'router'])(
  'an encrypted collection that is created during a migration ends it by name; access %s (real servers from 8.0)',
  needs(real80),
  async (sourceAccess) => {
    await using clusters = await Clusters.little(twoShards);
    await using instance = await clusters.startLoneInstanceHere({ sourceAccess });
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    await createEncrypted(clusters.clients.source);
    const failure = () => instance.client.progress().catch((error: unknown) => error);
    await expect.poll(failure, { timeout: patience_ms() }).toMatchObject(refused);
  },
);
