import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { MongoClient, MongoNetworkError, MongoServerError } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { connectionFailure, shardAdvice, unreachable } from '../../../src/cluster/connection-failure.js';
import { classify, codeOf } from '../../../src/cluster/failure.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { certificate } from './certificate.js';
import { failure, ScriptedNode } from './scripted-node.js';

/** Servers that answer, but not as a MongoDB server would. */
const servers = {
  refusing: createServer(),
  closing: createServer((socket) => socket.on('error', () => undefined).once('data', () => socket.destroy())),
  silent: createServer((socket) => socket.on('error', () => undefined)),
  secure: createTlsServer(certificate, (socket) => socket.on('error', () => undefined)),
  /** As servers do with a client whose certificate they do not accept. */
  strict: createTlsServer(certificate, (socket) => socket.on('error', () => undefined).end()),
};
const ports = {} as Record<keyof typeof servers, number>;
const folder = ScratchFolder.create('certificates');
const authority = folder.file('authority.pem');

beforeAll(async () => {
  writeFileSync(authority, certificate.cert);
  for (const [name, server] of Object.entries(servers) as [keyof typeof servers, Server][]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ports[name] = (server.address() as AddressInfo).port;
  }
  servers.refusing.close();
});

afterAll(() => {
  for (const server of Object.values(servers)) server.close();
  folder[Symbol.dispose]();
});

/** Long enough for the first attempt on a busy machine: its failure is reported. */
const quick = 'serverSelectionTimeoutMS=4000';
/** Longer than the five seconds after which a lost question to a name server is repeated. */
const byName = 'serverSelectionTimeoutMS=12000';

/** The error of opening the cluster of a connection string. */
async function failureOf(connectionString: string): Promise<unknown> {
  const options = { direct: false, signal: new AbortController().signal };
  return openCluster('cluster0', connectionString, options).then(
    () => null,
    (error: unknown) => error,
  );
}

async function sentenceFor(connectionString: string): Promise<string> {
  const found = connectionFailure(await failureOf(connectionString));
  return found === null ? 'no failure to connect' : unreachable('cluster0', found);
}

describe('a cluster that cannot be reached', () => {
  it.concurrent.each<[string, () => string, string]>([
    [
      'an unknown host',
      () => `mongodb://db.invalid/?${byName}`,
      'cluster0 cannot be reached: db.invalid:27017: the host name is unknown (ENOTFOUND). Check the host names ' +
        'in its connection string, and the DNS of this machine.',
    ],
    [
      'a port without a listener',
      () => `mongodb://127.0.0.1:${ports.refusing}/?${quick}`,
      'cluster0 cannot be reached: 127.0.0.1:PORT: the connection was refused (ECONNREFUSED). Check the port, ' +
        'and that the server runs and listens on this address.',
    ],
    [
      'TLS with a server that has none',
      () => `mongodb://127.0.0.1:${ports.closing}/?tls=true&${quick}`,
      'cluster0 cannot be reached: 127.0.0.1:PORT: the connection was closed during the handshake (ECONNRESET). ' +
        'Check that the server uses TLS on this port: remove tls=true from the connection string if it does not. ' +
        'If it does, name a client certificate that it accepts with tlsCertificateKeyFile in the connection string.',
    ],
    [
      'TLS with a server that closes the connection after the handshake',
      () => `mongodb://127.0.0.1:${ports.strict}/?tls=true&tlsAllowInvalidCertificates=true&${quick}`,
      'cluster0 cannot be reached: 127.0.0.1:PORT: the server closed the connection. ' +
        'Check that the server uses TLS on this port: remove tls=true from the connection string if it does not. ' +
        'If it does, name a client certificate that it accepts with tlsCertificateKeyFile in the connection string.',
    ],
    [
      'no TLS with a server that requires it',
      () => `mongodb://127.0.0.1:${ports.secure}/?${quick}`,
      'cluster0 cannot be reached: 127.0.0.1:PORT: the server closed the connection. ' +
        'Check that the port is that of a MongoDB server, and add tls=true to the connection string if it ' +
        'requires TLS.',
    ],
    [
      'a certificate without a known authority',
      () => `mongodb://127.0.0.1:${ports.secure}/?tls=true&${quick}`,
      'cluster0 cannot be reached: 127.0.0.1:PORT: the certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT). ' +
        'Name the authority that signed it with tlsCAFile in the connection string.',
    ],
    [
      'a certificate of another host',
      () => `mongodb://127.0.0.1:${ports.secure}/?tls=true&tlsCAFile=${encodeURIComponent(authority)}&${quick}`,
      'cluster0 cannot be reached: 127.0.0.1:PORT: the certificate is for another host name ' +
        '(ERR_TLS_CERT_ALTNAME_INVALID). Use the host name that the certificate has.',
    ],
    [
      'a host that is silent',
      () => `mongodb://127.0.0.1:${ports.silent}/?connectTimeoutMS=200&${quick}`,
      'cluster0 cannot be reached: 127.0.0.1:PORT: the server did not answer in time. ' +
        'Check its host and port, and the network and firewalls between this machine and the server.',
    ],
  ])('names host, cause and remedy of %s', async (_, connectionString, sentence) => {
    expect((await sentenceFor(connectionString())).replace(/127\.0\.0\.1:\d+/, '127.0.0.1:PORT')).toBe(sentence);
  });

  it('names the cause of missing SRV records, and is retried like any unknown host', async () => {
    expect(await sentenceFor('mongodb+srv://cluster.db.invalid/')).toMatch(
      /^cluster0 cannot be reached: the host name (is unknown|has no such DNS record) \(E\w+\)\. Check the host/,
    );
  });
});

it.each([
  ['ERR_TLS_CERT_ALTNAME_INVALID', /^Its certificate needs the host name under which listShards shows it; otherwise/],
  ['CERT_HAS_EXPIRED', /^Renew the certificate/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /tlsCAFile/],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /tlsCertificateKeyFile/],
  ['ECONNREFUSED', /^$/],
])('says what to do about a certificate of a shard: %s', (code, advice) => {
  const failed = new MongoNetworkError('connect', { cause: Object.assign(new Error('connect'), { code }) });
  expect(shardAdvice(failed)).toMatch(advice);
});

it('a server that refuses greetings without an API version is not called closed, and is not asked again', async () => {
  const greeting = { ok: 0, code: 498_870, codeName: 'Location498870', errmsg: 'The apiVersion parameter is required' };
  await using node = await ScriptedNode.start(() => failure(498_870, 'Location498870'), greeting);
  const error = await failureOf(`${node.connectionString}?serverSelectionTimeoutMS=500`);
  expect(error).toBeInstanceOf(ConvoyError);
  expect(error).toMatchObject({ error: 'serverParameterInTheWay' });
  expect((error as ConvoyError).errorDescription).toMatch(/requireApiVersion refuses.*mongosh --apiVersion 1/);
  const client = new MongoClient(`${node.connectionString}?serverSelectionTimeoutMS=500`);
  const refusal: unknown = await client.connect().catch((thrown: unknown) => thrown);
  await client.close();
  expect([codeOf(refusal), classify(refusal)]).toEqual([498_870, 'fatal']);
});

describe('a replica set whose members all answer', () => {
  const ofSet = { setName: 'plain', setVersion: 1 };
  const secondary = { ...ofSet, isWritablePrimary: false, ismaster: false, secondary: true };

  it.each([
    ['without a primary', secondary, '', 'the replica set has no primary. Check that a majority'],
    [
      'without a member that may be read',
      ofSet,
      'readPreference=secondary&readPreferenceTags=dc:none&',
      'no member of the replica set is one that readPreference and readPreferenceTags allow to read from. Check that',
    ],
  ])('%s is not called unreachable by network or port', async (_what, identity, options, sentence) => {
    await using node = await ScriptedNode.start(() => failure(59, 'CommandNotFound'), identity);
    const client = new MongoClient(`${node.connectionString}?replicaSet=plain&${options}serverSelectionTimeoutMS=500`);
    const error: unknown = await client
      .db('admin')
      .command({ ping: 1 })
      .catch((thrown: unknown) => thrown);
    await client.close();
    const found = connectionFailure(error);
    expect(found === null ? '' : unreachable('cluster0', found)).toContain(`cluster0 cannot be reached: ${sentence}`);
  });
});

describe('a login that is refused', () => {
  it('is reported as such, with a hint at percent-encoding and without user or password', async () => {
    await using router = await ScriptedNode.start(() => failure(18, 'AuthenticationFailed'));
    expect(await failureOf(router.connectionString)).toMatchObject({
      error: 'authenticationFailed',
      errorDescription:
        `cluster0 cannot be reached: ${router.host}: the server refused user or password (AuthenticationFailed). ` +
        'Check user, password and authSource; in a connection string, percent-encode @ : / ? # [ ] and % of a ' +
        'password, as %40 for @.',
    });
  });

  it('by a certificate is reported as such, with what makes its subject a user', async () => {
    await using router = await ScriptedNode.start(() => failure(11, 'UserNotFound'));
    const byCertificate = `${router.connectionString}?authMechanism=MONGODB-X509&authSource=$external`;
    expect(await failureOf(byCertificate)).toMatchObject({
      error: 'authenticationFailed',
      errorDescription:
        `cluster0 cannot be reached: ${router.host}: the server has no user for the certificate of this client ` +
        '(UserNotFound). Create its subject as a user, db.getSiblingDB("$external").runCommand({createUser: SUBJECT, ' +
        'roles: […]}), on shards too if they are read directly; openssl x509 -noout -subject -nameopt RFC2253 -in ' +
        'FILE prints it.',
    });
  });

  it('is not reported for other refusals', () => {
    expect(connectionFailure(new MongoServerError({ code: 13, codeName: 'Unauthorized' }))).toBeNull();
    expect(connectionFailure(new TypeError('x is not a function'))).toBeNull();
    const cause = new MongoNetworkError('connect', {
      cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
    });
    expect(connectionFailure(cause)).not.toBeNull();
    expect(
      connectionFailure(new ConvoyError('shardsNotReachable', 'Shard shard0 cannot be read directly.', { cause })),
    ).toBeNull();
  });
});
