import { UUID, type MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { patience_ms } from '../../test/patience.js';
import { Clusters, defaultStart, untilCanCommit } from '../fleet.js';
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
    await using clusters = await Clusters.little(twoShards);
    await createEncrypted(clusters.clients.source);
    await using instance = await clusters.startLoneInstanceHere();
    await expect(instance.client.start(defaultStart)).rejects.toMatchObject(refused);
    const states = ['enxcol_.secret.esc', 'enxcol_.secret.ecoc'];
    const excludeNamespaces = [{ database: 'e2e', collections: ['secret', ...states] }];
    await instance.client.start({ ...defaultStart, excludeNamespaces });
    await untilCanCommit(instance.client);
    await instance.client.commit();
    await expect
      .poll(async () => (await instance.client.progress()).progress.state, { timeout: patience_ms() })
      .toBe('COMMITTED');
    const there = await clusters.clients.destination.db('e2e').listCollections({}, { nameOnly: true }).toArray();
    expect(there.map(({ name }) => name).sort()).toEqual(['names', 'orders']);
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
