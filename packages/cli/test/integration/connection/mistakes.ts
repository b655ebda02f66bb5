import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { MongoClient } from 'mongodb';
import type { ErrorName } from '@convoy/api/errors/convoy-error';
import { startLocalCluster, type LocalCluster } from '@convoy/testbed/cluster/local-cluster';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { certificate } from '../../../../instance/test/unit/cluster/certificate.js';

/** Where the mistaken connection strings lead. */
export interface Places {
  /** `host:port` of a router, of the shard `shard0`, of the config server, and of a replica set of its own. */
  readonly router: string;
  readonly shard: string;
  readonly config: string;
  readonly set: string;
  /** Nobody listens. */
  readonly refusing: string;
  /** Never answers. */
  readonly silent: string;
  /** Speaks HTTP. */
  readonly web: string;
  /** Requires TLS; its certificate is self-signed, for other.example. */
  readonly secure: string;
  /** File with that certificate. */
  readonly authority: string;
  close(): Promise<void>;
}

/** A mistake in a connection string, and what Convoy answers. */
export interface Mistake {
  readonly name: string;
  readonly connectionString: (places: Places) => string;
  readonly error: ErrorName;
  /** What follows `cluster0 cannot be`. HOST stands for any address of this machine. */
  readonly sentence: string;
}

/** Long enough for the first attempt on a busy machine: its failure is reported. */
const quick = 'serverSelectionTimeoutMS=4000';
/** Longer than the five seconds after which a lost question to a name server is repeated. */
const byName = 'serverSelectionTimeoutMS=12000';
const login = 'migrator:secret@';

const logins = {
  refused:
    'reached: HOST: the server refused user or password (AuthenticationFailed). Check user, password and authSource; ' +
    'in a connection string, percent-encode @ : / ? # [ ] and % of a password, as %40 for @.',
  mechanism:
    'reached: HOST: the server does not offer this way to log in (MechanismUnavailable). Correct authMechanism in ' +
    'the connection string, or remove it: the server then chooses.',
};
const routers = 'Name the routers (mongos) of that cluster in the connection string.';
const noTls = 'Check that the server uses TLS on this port: remove tls=true from the connection string if it does not.';
const networks = 'Check its host and port, and the network and firewalls between this machine and the server.';
const plain =
  'reached: HOST: the server closed the connection. Check that the port is that of a MongoDB server, and add tls=' +
  'true to the connection string if it requires TLS.';

/** Every mistake with its exact sentence. */
/**
 * Servers without TLS take the length of a greeting for that of a message, and close the connection above 48 MB. From
 * OpenSSL 3.5 on greetings are that long.
 */
const [opensslMajor = 0, opensslMinor = 0] = process.versions.openssl.split('.').map(Number);
const unanswered =
  opensslMajor > 3 || (opensslMajor === 3 && opensslMinor >= 5)
    ? `the connection was closed during the handshake (ECONNRESET). ${noTls} If it does, name a client certificate ` +
      'that it accepts with tlsCertificateKeyFile in the connection string.'
    : `the server did not answer the TLS handshake in time. ${noTls}`;

export const mistakes: readonly Mistake[] = [
  {
    name: 'an unknown host',
    connectionString: () => `mongodb://db.invalid/?${byName}`,
    error: 'sourceUnavailable',
    sentence:
      'reached: db.invalid:27017: the host name is unknown (ENOTFOUND). Check the host names in its connection ' +
      'string, and the DNS of this machine.',
  },
  {
    name: 'a port without a listener',
    connectionString: ({ refusing }) => `mongodb://${refusing}/?${quick}`,
    error: 'sourceUnavailable',
    sentence:
      'reached: HOST: the connection was refused (ECONNREFUSED). Check the port, and that the server runs and ' +
      'listens on this address.',
  },
  {
    name: 'a host that never answers',
    connectionString: ({ silent }) => `mongodb://${silent}/?${quick}`,
    error: 'sourceUnavailable',
    sentence: `reached: HOST: the server did not answer in time. ${networks}`,
  },
  {
    name: 'a web server',
    connectionString: ({ web }) => `mongodb://${web}/?${quick}`,
    error: 'sourceUnavailable',
    sentence: plain,
  },
  {
    name: 'TLS with a server without it',
    connectionString: ({ router }) => `mongodb://${login}${router}/?authSource=admin&tls=true&${quick}`,
    error: 'sourceUnavailable',
    sentence: `reached: HOST: ${unanswered}`,
  },
  {
    name: 'TLS with a web server',
    connectionString: ({ web }) => `mongodb://${web}/?tls=true&${quick}`,
    error: 'sourceUnavailable',
    sentence: `reached: HOST: the server does not speak TLS (ERR_SSL_WRONG_VERSION_NUMBER). ${noTls}`,
  },
  {
    name: 'no TLS with a server that requires it',
    connectionString: ({ secure }) => `mongodb://${secure}/?${quick}`,
    error: 'sourceUnavailable',
    sentence: plain,
  },
  {
    name: 'an unknown authority',
    connectionString: ({ secure }) => `mongodb://${secure}/?tls=true&${quick}`,
    error: 'sourceUnavailable',
    sentence:
      'reached: HOST: the certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT). Name the authority that signed ' +
      'it with tlsCAFile in the connection string.',
  },
  {
    name: 'a certificate of another host',
    connectionString: ({ secure, authority }) =>
      `mongodb://${secure}/?tls=true&tlsCAFile=${encodeURIComponent(authority)}&${quick}`,
    error: 'sourceUnavailable',
    sentence:
      'reached: HOST: the certificate is for another host name (ERR_TLS_CERT_ALTNAME_INVALID). Use the host name ' +
      'that the certificate has.',
  },
  {
    name: 'a missing file of certificates',
    connectionString: ({ secure }) => `mongodb://${secure}/?tls=true&tlsCAFile=none.pem&${quick}`,
    error: 'invalidConfiguration',
    sentence:
      'reached: a file with certificates cannot be read (ENOENT). Check path and permissions of tlsCAFile and ' +
      'tlsCertificateKeyFile in the connection string.',
  },
  {
    name: 'a wrong password',
    connectionString: ({ router }) => `mongodb://migrator:wrong@${router}/?authSource=admin`,
    error: 'authenticationFailed',
    sentence: logins.refused,
  },
  {
    name: 'a password with a percent sign that happens to be an escape',
    connectionString: ({ router }) => `mongodb://migrator:secret%41@${router}/?authSource=admin`,
    error: 'authenticationFailed',
    sentence: logins.refused,
  },
  {
    name: 'a wrong authSource',
    connectionString: ({ router }) => `mongodb://${login}${router}/?authSource=shop`,
    error: 'authenticationFailed',
    sentence: logins.refused,
  },
  {
    name: 'no login',
    connectionString: ({ router }) => `mongodb://${router}/`,
    error: 'authenticationFailed',
    sentence:
      'reached: HOST: the server requires a login (Unauthorized). Add user and password to the connection string: ' +
      'mongodb://USER:PASSWORD@HOST:PORT/?authSource=admin.',
  },
  {
    name: 'an authMechanism that the server does not enable',
    connectionString: ({ router }) => `mongodb://${login}${router}/?authSource=$external&authMechanism=PLAIN`,
    error: 'authenticationFailed',
    sentence: logins.mechanism,
  },
  {
    name: 'a login by certificate without TLS',
    connectionString: ({ router }) => `mongodb://${router}/?authSource=$external&authMechanism=MONGODB-X509`,
    error: 'authenticationFailed',
    sentence: logins.mechanism,
  },
  {
    name: 'a shard in place of the router',
    connectionString: ({ shard }) => `mongodb://${login}${shard}/?authSource=admin`,
    error: 'unsupportedTopology',
    sentence: `used: HOST: this is the shard shard0 of a sharded cluster, not a router. ${routers}`,
  },
  {
    name: 'a config server in place of the router',
    connectionString: ({ config }) => `mongodb://${login}${config}/?authSource=admin`,
    error: 'unsupportedTopology',
    sentence: `used: HOST: this is a config server of a sharded cluster, not a router. ${routers}`,
  },
  {
    name: 'the name of another replica set',
    connectionString: ({ set }) => `mongodb://${login}${set}/?authSource=admin&replicaSet=other`,
    error: 'unsupportedTopology',
    sentence:
      'used: HOST: this is the replica set rs0, not the one that replicaSet names. Check the host, or set ' +
      'replicaSet=rs0 in the connection string.',
  },
];

/** Connection strings that are refused before anything connects: with the text that follows `--cluster0:`. */
export const unreadable: readonly (readonly [string, string, string])[] = (['@', '/', '%'] as const).map(
  (character) => [
    `a password with ${character} in it`,
    `mongodb://migrator:top${character}secret@db.example/`,
    'has special characters in user or password: percent-encode them, as %40 for @, %3A for :, %2F for / and %25 for %',
  ],
);

/** Starts clusters with users, and servers that answer otherwise than a MongoDB server would. */
export async function startPlaces(): Promise<Places> {
  const folder = ScratchFolder.create('mistakes');
  const authority = folder.file('authority.pem');
  writeFileSync(authority, certificate.cert);
  const servers = {
    refusing: createServer(),
    silent: createServer((socket) => socket.on('error', () => undefined)),
    web: createServer((socket) =>
      socket
        .on('error', () => undefined)
        .once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')),
    ),
    secure: createTlsServer(certificate, (socket) => socket.on('error', () => undefined)),
  };
  const hosts = Object.fromEntries(
    await Promise.all(Object.entries(servers).map(async ([name, server]) => [name, await hostOf(server)] as const)),
  ) as Record<keyof typeof servers, string>;
  servers.refusing.close();
  const clusters = await Promise.all([
    startLocalCluster({ topology: { shards: 1 }, withUsers: true }),
    startLocalCluster({ topology: 'replicaSet', withUsers: true }),
  ]);
  const [sharded, set] = clusters;
  return {
    ...hosts,
    ...(await membersOf(sharded)),
    router: new URL(sharded.connectionString).host,
    set: new URL(set.connectionString).host,
    authority,
    close: async () => {
      for (const server of Object.values(servers)) server.close();
      await Promise.all(clusters.map((cluster) => cluster.close()));
      folder[Symbol.dispose]();
    },
  };
}

async function hostOf(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function membersOf(cluster: LocalCluster): Promise<Pick<Places, 'shard' | 'config'>> {
  await using client = new MongoClient(cluster.connectionStringOf('root'));
  const { map } = await client.db('admin').command({ getShardMap: 1 });
  const host = (id: string): string => String((map as Record<string, string>)[id]).split('/')[1] ?? '';
  return { shard: host('shard0'), config: host('config') };
}
