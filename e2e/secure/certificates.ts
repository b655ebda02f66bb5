import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { connect, createServer } from 'node:tls';
import { MongoClient } from 'mongodb';
import { rolesOf } from '@convoy/testbed/cluster/access-control';
import type { TestCluster, TestTls } from '@convoy/testbed/cluster/test-cluster';
import { TestAuthority } from '../../packages/api/test/unit/http/test-authority.js';
import { eachShard } from '../shards.js';

/** What tests of TLS need; a source may be older. */
export const realTls = { version: { source: [5, 0], destination: [8, 0] }, real: true } as const;

/** The client's certificate has another organisation than those of servers. */
const clientName = '/O=Example/OU=migration/CN=convoy';
/** The same as servers show it: they know a user by it. */
const clientUser = 'CN=convoy,OU=migration,O=Example';

/** An authority, and what it and a foreign one have issued. */
export class Certificates implements Disposable {
  readonly authority = new TestAuthority();
  readonly foreign = new TestAuthority();
  /** Of servers, for the addresses of this machine. */
  readonly serverFile = this.authority.issueTogether('server', { names: 'IP:127.0.0.1', subject: '/CN=server' });
  readonly clientFile = this.authority.issueTogether('client', { subject: clientName });
  readonly expiredFile = this.authority.issueTogether('expired', { subject: clientName, days: -1 });
  readonly foreignFile = this.foreign.issueTogether('foreign', { subject: clientName });

  /** Of servers that accept no client without a certificate. */
  get strict(): TestTls {
    const { authority, serverFile, clientFile } = this;
    return { caFile: authority.caFile, serverFile, clientFile };
  }

  [Symbol.dispose](): void {
    this.authority[Symbol.dispose]();
    this.foreign[Symbol.dispose]();
  }
}

/** A connection string with other options; null removes one. */
export function withOptions(connectionString: string, options: Readonly<Record<string, string | null>>): string {
  const url = new URL(connectionString);
  for (const [name, value] of Object.entries(options)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.href;
}

/** The same without user and password: the certificate is the login. */
export function byCertificate(connectionString: string): string {
  const url = new URL(connectionString);
  [url.username, url.password] = ['', ''];
  return withOptions(url.href, { authMechanism: 'MONGODB-X509', authSource: '$external' });
}

/** Makes the client's certificate a user, with the roles of docs/guide/before.md. */
export async function makeCertificateUser(cluster: TestCluster): Promise<void> {
  const create = async (client: MongoClient, isShard: boolean): Promise<void> => {
    const { version } = (await client.db('admin').command({ buildInfo: 1 })) as { version: string };
    const held = rolesOf('migrator', isShard, Number.parseInt(version)).map((role) => ({ role, db: 'admin' }));
    await client.db('$external').command({ createUser: clientUser, roles: held });
  };
  await using router = new MongoClient(cluster.connectionStringOf('root'));
  await create(router, false);
  if (cluster.kind === 'sharded') await eachShard(cluster, (shard) => create(shard, true));
}

/** A listener with a certificate of its own, which passes everything on to a server: what ends TLS before a server. */
export interface Relay extends AsyncDisposable {
  readonly host: string;
}

/** @param certificateFile certificate and key that it shows */
export async function startRelay(certificateFile: string, host: string, tls: TestTls): Promise<Relay> {
  const [hostname = '', port = ''] = host.split(':');
  const own = readFileSync(certificateFile, 'utf8');
  const client = readFileSync(tls.clientFile ?? '', 'utf8');
  const server = createServer({ cert: own, key: own }, (socket) => {
    const onward = connect({
      host: hostname,
      port: Number(port),
      cert: client,
      key: client,
      ca: readFileSync(tls.caFile),
    });
    pipeline(socket, onward, () => undefined);
    pipeline(onward, socket, () => undefined);
  });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}
