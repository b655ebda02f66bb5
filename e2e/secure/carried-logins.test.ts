import { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { hasOpenssl } from '../../packages/api/test/unit/http/test-authority.js';
import { Clusters, defaultStart } from '../fleet.js';
import { needs } from '../requirements.js';
import { byCertificate, Certificates, realTls, withOptions } from './certificates.js';

const pwd = 'of the application';
/** This machine, and one of the addresses that documents use as examples: nobody has it. */
const [here, elsewhere] = [[{ clientSource: ['127.0.0.1'] }], [{ clientSource: ['192.0.2.7'] }]];

/** Users that a certificate or an address lets in or keeps out, themselves or by a role. */
async function makeRestrictedUsers(client: MongoClient): Promise<void> {
  const shop = client.db('shop');
  await shop.collection('orders').insertOne({ n: 1 });
  const resource = { db: 'shop', collection: 'orders' };
  const makeRole = (createRole: string, authenticationRestrictions: object[]): Promise<unknown> =>
    shop.command({
      createRole,
      privileges: [{ resource, actions: ['find'] }],
      roles: [],
      ...(authenticationRestrictions.length > 0 && { authenticationRestrictions }),
    });
  await makeRole('reader', []);
  await makeRole('house', here);
  await makeRole('office', elsewhere);
  await client.db('$external').command({ createUser: 'CN=robot,O=shop', roles: [{ role: 'reader', db: 'shop' }] });
  await shop.command({ createUser: 'near', pwd, roles: ['reader'], authenticationRestrictions: here });
  await shop.command({ createUser: 'far', pwd, roles: ['reader'], authenticationRestrictions: elsewhere });
  await shop.command({ createUser: 'host', pwd, roles: ['house'] });
  await shop.command({ createUser: 'guest', pwd, roles: ['office'] });
}

/** Whether a login reads a document: false where it is refused. */
async function reads(connectionString: string): Promise<boolean> {
  await using client = new MongoClient(connectionString, { serverSelectionTimeoutMS: 10_000 });
  try {
    return (await client.db('shop').collection('orders').countDocuments({ n: 1 })) === 1;
  } catch (error) {
    // AuthenticationFailed, and the restriction by its own name
    expect([18, 214]).toContain((error as { code?: number }).code);
    return false;
  }
}

/** Who gets in, by name. */
async function admitted({ connectionString }: TestCluster, robotFile: string): Promise<string[]> {
  const certificate = withOptions(byCertificate(connectionString), { tlsCertificateKeyFile: robotFile });
  const logins = new Map([['robot', certificate]]);
  for (const user of ['near', 'far', 'host', 'guest']) {
    const url = new URL(withOptions(connectionString, { authSource: 'shop' }));
    [url.username, url.password] = [user, encodeURIComponent(pwd)];
    logins.set(user, url.href);
  }
  const found: string[] = [];
  for (const [user, login] of logins) if (await reads(login)) found.push(user);
  return found;
}

test.skipIf(!hasOpenssl)(
  'users log in on the destination with their certificates, and from the addresses that they and their roles may ' +
    '(openssl, real servers, a destination from 8.0)',
  needs(realTls),
  async () => {
    using certificates = new Certificates();
    const robotFile = certificates.authority.issueTogether('robot', { subject: '/O=shop/CN=robot' });
    const sets = { source: 'replicaSet', destination: 'replicaSet' } as const;
    await using clusters = await Clusters.start({ ...sets, withUsers: true, tls: certificates.strict });
    await makeRestrictedUsers(clusters.clients.source);
    const expected = ['robot', 'near', 'host'];
    expect(await admitted(clusters.source, robotFile)).toEqual(expected);
    await using instance = await clusters.startLoneInstanceHere();
    await instance.client.start({ ...defaultStart, carry: ['usersAndRoles'] });
    await clusters.cutOver(instance.client);
    expect(await admitted(clusters.destination, robotFile)).toEqual(expected);
  },
);
