import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { TestAuthority } from '../../../api/test/unit/http/test-authority.js';
import { parseRedisSettings } from '../../src/config/redis-config.js';
import type { RedisSettings } from '../../src/redis/redis-settings.js';
import { freePort, killRedisProcess, serverArgs, startRedisProcess } from './redis-process.js';

const host = '127.0.0.1';
const CLUSTER_NODES = 3;
const SLOTS = 16_384;
/** Time limit for a cluster's nodes to find each other. */
const CLUSTER_READY_WITHIN_MS = 60_000;
const CLUSTER_LOOK_MS = 50;

/** Servers in one of Redis' topologies, with their own folder. */
export interface RedisLayout extends AsyncDisposable {
  readonly settings: RedisSettings;
}

class Servers implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'convoy-redis-'));
  readonly children: ChildProcess[] = [];

  async start(args: readonly string[]): Promise<ChildProcess> {
    const child = await startRedisProcess(args);
    this.children.push(child);
    return child;
  }

  write(name: string, lines: readonly string[]): string {
    const path = join(this.folder, name);
    writeFileSync(path, `${lines.join('\n')}\n`);
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.children.map(killRedisProcess));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A primary with a replica, watched by a Sentinel that detects a failure within a second. */
export async function startSentinelRedis(): Promise<
  RedisLayout & { readonly primary: ChildProcess; failedOver(): Promise<void> }
> {
  const servers = new Servers();
  const [primaryPort, replicaPort, sentinelPort] = [await freePort(), await freePort(), await freePort()];
  const primary = await servers.start(serverArgs(primaryPort, servers.folder));
  await servers.start([
    ...serverArgs(replicaPort, servers.folder),
    '--replicaof',
    host,
    String(primaryPort),
    '--repl-diskless-sync-delay',
    '0',
  ]);
  const config = servers.write('sentinel.conf', [
    `port ${sentinelPort}`,
    `bind ${host}`,
    `dir ${servers.folder}`,
    `sentinel monitor fleet ${host} ${primaryPort} 1`,
    'sentinel down-after-milliseconds fleet 1000',
    'sentinel failover-timeout fleet 5000',
  ]);
  await servers.start([config, '--sentinel']);
  await untilReplicated(sentinelPort);
  return {
    settings: parseRedisSettings({ sentinels: [{ host, port: sentinelPort }], primaryName: 'fleet' }),
    primary,
    failedOver: () => untilPrimary(sentinelPort, replicaPort),
    [Symbol.asyncDispose]: () => servers[Symbol.asyncDispose](),
  };
}

/** A Sentinel that does not know the replica yet cannot fail over. */
async function untilReplicated(sentinelPort: number): Promise<void> {
  const client = new Redis(sentinelPort, host);
  await waitUntil('the Sentinel knows the replica', async () => {
    const replicas = (await client.call('SENTINEL', 'replicas', 'fleet')) as string[][];
    const fields = replicas[0] ?? [];
    return fields[fields.indexOf('master-link-status') + 1] === 'ok';
  });
  client.disconnect();
}

/** A cluster of three nodes without replicas. */
export async function startClusterRedis(): Promise<RedisLayout & { readonly nodes: readonly Redis[] }> {
  const servers = new Servers();
  const nodes: { port: number; busPort: number; client: Redis }[] = [];
  for (let at = 0; at < CLUSTER_NODES; at += 1) {
    const [port, busPort] = [await freePort(), await freePort()];
    const cluster = [
      '--cluster-enabled',
      'yes',
      '--cluster-port',
      String(busPort),
      '--cluster-config-file',
      `nodes-${port}.conf`,
    ];
    await servers.start([...serverArgs(port, servers.folder), ...cluster]);
    nodes.push({ port, busPort, client: new Redis(port, host) });
  }
  for (const [at, { client }] of nodes.entries()) {
    const [first, next] = [at, at + 1].map((one) => Math.floor((SLOTS * one) / CLUSTER_NODES));
    await client.call('CLUSTER', 'ADDSLOTSRANGE', String(first), String((next ?? SLOTS) - 1));
    for (const other of nodes) await client.call('CLUSTER', 'MEET', host, String(other.port), String(other.busPort));
  }
  for (const { client } of nodes) {
    await waitUntil('the cluster is complete', async () =>
      /cluster_state:ok[^]*cluster_known_nodes:3/.test(String(await client.call('CLUSTER', 'INFO'))),
    );
  }
  return {
    settings: parseRedisSettings({ nodes: nodes.map(({ port }) => ({ host, port })) }),
    nodes: nodes.map(({ client }) => client),
    [Symbol.asyncDispose]: async () => {
      for (const { client } of nodes) client.disconnect();
      await servers[Symbol.asyncDispose]();
    },
  };
}

/** The Sentinel now sends its clients to another server. */
async function untilPrimary(sentinelPort: number, port: number): Promise<void> {
  const client = new Redis(sentinelPort, host);
  await waitUntil('the fail-over', async () => {
    const address = (await client.call('SENTINEL', 'get-master-addr-by-name', 'fleet')) as string[];
    return address[1] === String(port);
  });
  client.disconnect();
}

async function waitUntil(what: string, condition: () => Promise<boolean>): Promise<void> {
  const end_ms = performance.now() + CLUSTER_READY_WITHIN_MS;
  while (!(await condition())) {
    if (performance.now() > end_ms) throw new Error(`waited in vain: ${what}`);
    await pause(CLUSTER_LOOK_MS);
  }
}

/** A server and a Sentinel that only use TLS, with the files for their clients. */
export interface TlsRedis extends AsyncDisposable {
  readonly url: string;
  readonly sentinel: { readonly host: string; readonly port: number };
  readonly files: { readonly caFile: string; readonly certFile: string; readonly keyFile: string };
}

/**
 * A server with a certificate of its own authority that requires client certificates, and a Sentinel that watches it.
 */
export async function startTlsRedis(): Promise<TlsRedis> {
  const servers = new Servers();
  const authority = new TestAuthority();
  const { caFile } = authority;
  const { certFile, keyFile } = authority.issue('redis');
  const [port, sentinelPort] = [await freePort(), await freePort()];
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', caFile];
  await servers.start([...serverArgs(0, servers.folder), '--tls-port', String(port), ...files]);
  const config = servers.write('sentinel.conf', [`dir ${servers.folder}`, `sentinel monitor fleet ${host} ${port} 1`]);
  await servers.start([
    config,
    '--sentinel',
    '--port',
    '0',
    '--tls-port',
    String(sentinelPort),
    '--tls-replication',
    'yes',
    ...files,
  ]);
  return {
    url: `rediss://${host}:${port}`,
    sentinel: { host, port: sentinelPort },
    files: { caFile, certFile, keyFile },
    [Symbol.asyncDispose]: async () => {
      await servers[Symbol.asyncDispose]();
      authority[Symbol.dispose]();
    },
  };
}
