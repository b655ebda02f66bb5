import { writeFileSync } from 'node:fs';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { hasOpenssl } from '../../packages/api/test/unit/http/test-authority.js';
import { runCommand as convoy } from '../../packages/cli/test/command-host.js';
import { needs } from '../requirements.js';
import { byCertificate, Certificates, realTls, type Relay, startRelay, withOptions } from './certificates.js';

/** Long enough for the first attempt on a busy machine: its failure is reported. */
const quick = { serverSelectionTimeoutMS: '4000' };
const skip = !hasOpenssl || needs(realTls).skip;

interface Places {
  readonly certificates: Certificates;
  readonly cluster: TestCluster;
  /** Shows a certificate that has expired. */
  readonly relay: Relay;
}

interface Mistake {
  readonly name: string;
  readonly connectionString: (places: Places) => string;
  readonly error: string;
  /** What follows `cluster0 cannot be reached: HOST: `. */
  readonly says: RegExp;
}

const unknownAuthority = /^the certificate was signed by an unknown authority \(\w+\)\. Name the .* tlsCAFile/;
const clientRefused = /closed.* If it does, name a client certificate that it accepts with tlsCertificateKeyFile in/;
const options = (changed: (places: Places) => Record<string, string | null>) => (places: Places) =>
  withOptions(places.cluster.connectionString, changed(places));

const mistakes: readonly Mistake[] = [
  {
    name: 'no authority',
    connectionString: options(() => ({ tlsCAFile: null })),
    error: 'sourceUnavailable',
    says: unknownAuthority,
  },
  {
    name: 'another authority',
    connectionString: options(({ certificates }) => ({ tlsCAFile: certificates.foreign.caFile })),
    error: 'sourceUnavailable',
    says: unknownAuthority,
  },
  {
    name: 'a host name that the certificate does not have',
    connectionString: ({ cluster }) => cluster.connectionString.replace('127.0.0.1', 'localhost'),
    error: 'sourceUnavailable',
    says: /^the certificate is for another host name \(ERR_TLS_CERT_ALTNAME_INVALID\)\. Use the host name/,
  },
  {
    name: 'a server whose certificate has expired',
    connectionString: ({ cluster, relay }) =>
      cluster.connectionString.replace(new URL(cluster.connectionString).host, relay.host),
    error: 'sourceUnavailable',
    says: /^the certificate has expired \(CERT_HAS_EXPIRED\)\. Renew the certificate of the server\.$/,
  },
  {
    name: 'no TLS',
    connectionString: options(() => ({ tls: null, tlsCAFile: null, tlsCertificateKeyFile: null })),
    error: 'sourceUnavailable',
    says: /^the server closed the connection\. .*add tls=true to the connection string if it requires TLS\.$/,
  },
  {
    name: 'no client certificate where servers require one',
    connectionString: options(() => ({ tlsCertificateKeyFile: null })),
    error: 'sourceUnavailable',
    says: clientRefused,
  },
  {
    name: 'a client certificate of another authority',
    connectionString: options(({ certificates }) => ({ tlsCertificateKeyFile: certificates.foreignFile })),
    error: 'sourceUnavailable',
    says: clientRefused,
  },
  {
    name: 'a client certificate that has expired',
    connectionString: options(({ certificates }) => ({ tlsCertificateKeyFile: certificates.expiredFile })),
    error: 'sourceUnavailable',
    says: clientRefused,
  },
  {
    name: 'a client certificate that is no user',
    connectionString: ({ cluster }) => byCertificate(cluster.connectionString),
    error: 'authenticationFailed',
    says: /^the server has no user for the certificate of this client \(UserNotFound\)\. .*\$external.*createUser/,
  },
  {
    name: 'a user without the mechanism of the connection string',
    connectionString: ({ cluster }) =>
      withOptions(cluster.connectionString.replace('migrator:', 'former:'), { authMechanism: 'SCRAM-SHA-256' }),
    error: 'authenticationFailed',
    says: /^the server does not offer this way to log in \(MechanismUnavailable\)\. Correct authMechanism/,
  },
  {
    name: 'a wrong password for SCRAM-SHA-256',
    connectionString: ({ cluster }) =>
      withOptions(cluster.connectionString.replace(':secret', ':wrong'), { authMechanism: 'SCRAM-SHA-256' }),
    error: 'authenticationFailed',
    says: /^the server refused user or password \(AuthenticationFailed\)\. Check user, password and authSource/,
  },
];

describe.skipIf(skip)('TLS and logins of real servers from 8.0 (openssl)', () => {
  let places: Places;
  const folder = ScratchFolder.create('secure');

  beforeAll(async () => {
    const certificates = new Certificates();
    const tls = certificates.strict;
    const cluster = await startTestCluster({ name: 'secure', topology: { shards: 1 }, withUsers: true, tls, folder });
    const expired = certificates.authority.issueTogether('expired-server', { names: 'IP:127.0.0.1', days: -1 });
    const relay = await startRelay(expired, new URL(cluster.connectionString).host, tls);
    await using root = new MongoClient(cluster.connectionStringOf('root'));
    const former = { createUser: 'former', pwd: 'secret', roles: ['root'], mechanisms: ['SCRAM-SHA-1'] };
    await root.db('admin').command(former);
    places = { certificates, cluster, relay };
  });

  afterAll(async () => {
    await places.relay[Symbol.asyncDispose]();
    await places.cluster.close();
    places.certificates[Symbol.dispose]();
    folder[Symbol.dispose]();
  });

  it('the same connection string without a mistake reaches the cluster', async () => {
    const { items } = await check(places.cluster.connectionString);
    expect(items.filter(({ description }) => description.includes('cluster0 cannot be'))).toEqual([]);
  });

  const named = mistakes.map((mistake) => [mistake.name, mistake] as const);

  it.each(named)('%s is named, with what to do', async (_name, { connectionString, error, says }) => {
    const { items, canStart } = await check(withOptions(connectionString(places), quick));
    expect(canStart).toBe(false);
    const [first] = items;
    const start = error === 'sourceUnavailable' ? 'The source cluster0' : 'cluster0';
    const head = new RegExp(`^${start} cannot be reached: (?:127\\.0\\.0\\.1|localhost):\\d+: `);
    expect(first).toMatchObject({ result: 'failed', error, description: expect.stringMatching(head) as unknown });
    expect(first?.description.replace(head, '')).toMatch(says);
  });

  interface Checked {
    readonly canStart: boolean;
    readonly items: readonly { result: string; error?: string; description: string }[];
  }

  /** What `convoy check` finds of a source, beside a destination that nobody reaches. */
  async function check(connectionString: string): Promise<Checked> {
    const [cluster0, cluster1] = [folder.file('cluster0'), folder.file('cluster1')];
    writeFileSync(cluster0, connectionString);
    writeFileSync(cluster1, 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=4000');
    const { stdout } = await convoy('check', '--json', '--cluster0-file', cluster0, '--cluster1-file', cluster1);
    return JSON.parse(stdout) as Checked;
  }
});
