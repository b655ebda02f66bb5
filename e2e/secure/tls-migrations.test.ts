import { expect, test } from 'vitest';
import { loginAs, migratorCredentials } from '@convoy/testbed/cluster/access-control';
import { hasOpenssl } from '../../packages/api/test/unit/http/test-authority.js';
import { Clusters, defaultStart, untilCanCommit } from '../fleet.js';
import { needs } from '../requirements.js';
import { byCertificate, Certificates, makeCertificateUser, realTls, withOptions } from './certificates.js';

const twoShards = { source: { shards: 2 }, destination: { shards: 2 } };
const shards = { cluster0: migratorCredentials, cluster1: migratorCredentials };
const scram = (text: string): string => withOptions(text, { authMechanism: 'SCRAM-SHA-256' });

test.skipIf(!hasOpenssl).each([
  ['a user of SCRAM-SHA-256', 'direct', scram, { shards }],
  ['a user of SCRAM-SHA-256', 'router', scram, {}],
  ['a client certificate (MONGODB-X509)', 'direct', byCertificate, {}],
  ['a client certificate (MONGODB-X509)', 'router', byCertificate, {}],
  ['a client certificate, and users of the shards', 'direct', byCertificate, { shards }],
] as const)(
  'a cluster with a private authority, where all servers require TLS and a client certificate, is migrated by %s; ' +
    'access %s (openssl, real servers, a destination from 8.0)',
  needs(realTls),
  async (_login, sourceAccess, login, more) => {
    using certificates = new Certificates();
    await using clusters = await Clusters.little({ ...twoShards, withUsers: true, tls: certificates.strict });
    for (const side of ['source', 'destination'] as const) await makeCertificateUser(clusters[side]);
    const cluster0 = login(clusters.source.connectionString);
    const cluster1 = login(clusters.destination.connectionString);
    await using instance = await clusters.startLoneInstanceHere({ cluster0, cluster1, sourceAccess, ...more });
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    await clusters.clients.source
      .db('e2e')
      .collection('orders')
      .updateMany({}, { $set: { tag: 'later' } });
    await clusters.cutOver(instance.client);
  },
);

test.skipIf(!hasOpenssl)(
  'replica sets with TLS and a key file are migrated by a client certificate ' +
    '(openssl, real servers, a destination from 8.0)',
  needs(realTls),
  async () => {
    using certificates = new Certificates();
    const sets = { source: 'replicaSet', destination: 'replicaSet' } as const;
    await using clusters = await Clusters.little({ ...sets, withUsers: true, tls: certificates.strict });
    for (const side of ['source', 'destination'] as const) await makeCertificateUser(clusters[side]);
    await using instance = await clusters.startLoneInstanceHere({
      cluster0: byCertificate(clusters.source.connectionString),
      cluster1: byCertificate(clusters.destination.connectionString),
    });
    await instance.client.start(defaultStart);
    await clusters.cutOver(instance.client);
  },
);

test.skipIf(!hasOpenssl)(
  'shards whose certificates lack the names that the cluster lists are read through the router, or refused by name ' +
    '(openssl, real servers, a destination from 8.0)',
  needs(realTls),
  async () => {
    using certificates = new Certificates();
    const { authority, clientFile } = certificates;
    const serverFile = authority.issueTogether('named', { names: 'DNS:localhost' });
    const tls = { caFile: authority.caFile, serverFile, clientFile, allowsOtherHostNames: true };
    await using clusters = await Clusters.little({ ...twoShards, withUsers: true, tls });
    const named = (text: string): string =>
      withOptions(text.replace('127.0.0.1', 'localhost'), { tlsAllowInvalidHostnames: null });
    const cluster0 = named(clusters.source.connectionString);
    const cluster1 = named(clusters.destination.connectionString);
    expect(loginAs(cluster0, 'migrator')).toBe(cluster0);
    {
      await using instance = await clusters.startLoneInstanceHere({
        cluster0,
        cluster1,
        sourceAccess: 'direct',
        shards,
      });
      await expect(instance.client.start(defaultStart)).rejects.toMatchObject({
        error: 'shardsNotReachable',
        errorDescription: expect.stringMatching(
          /shard0 of cluster0 cannot be read directly: 127\.0\.0\.1:\d+: the certificate is for another .*listShards/,
        ) as unknown,
      });
    }
    await using instance = await clusters.startLoneInstanceHere({ cluster0, cluster1, shards });
    await instance.client.start(defaultStart);
    const { warnings } = await untilCanCommit(instance.client);
    expect(warnings?.filter(({ name }) => name === 'sourceReadThroughRouter')).toMatchObject([
      { description: expect.stringContaining('the certificate is for another host name') as unknown },
    ]);
    await clusters.cutOver(instance.client);
  },
);
