import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { parseRedisSettings } from '../../../src/config/redis-config.js';
import { RedisConnections } from '../../../src/redis/connections.js';

function connect(settings: unknown): { made: RedisConnections; lines: string[] } {
  const lines: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line) => lines.push(line) });
  return { made: new RedisConnections(parseRedisSettings(settings), logger, 1_000), lines };
}

describe('RedisConnections', () => {
  it('passes Sentinels, users and passwords to the driver', () => {
    const { made } = connect({
      sentinels: [{ host: '127.0.0.1', port: 1 }],
      primaryName: 'main',
      sentinelPassword: 'watch',
      username: 'alice',
      password: 's3cret',
      database: 4,
      tls: { servername: 'redis.example' },
    });
    expect(made.bounded().options).toMatchObject({
      sentinels: [{ host: '127.0.0.1', port: 1 }],
      name: 'main',
      sentinelPassword: 'watch',
      username: 'alice',
      password: 's3cret',
      db: 4,
      tls: { servername: 'redis.example', rejectUnauthorized: true },
      enableTLSForSentinelMode: true,
      maxRetriesPerRequest: 2,
    });
    made.close();
  });

  it('connects to a Redis Cluster by its nodes, with waiting commands on request', () => {
    const { made } = connect({ nodes: [{ host: '127.0.0.1', port: 1 }], password: 's3cret' });
    const connection = made.patient();
    expect(connection.isCluster).toBe(true);
    expect(connection.options).toMatchObject({ redisOptions: { password: 's3cret', maxRetriesPerRequest: null } });
    made.close();
  });

  it('names the setting of an unreadable TLS file', () => {
    const { made } = connect({ host: 'h', tls: { caFile: '/nowhere/ca.pem' } });
    expect(() => made.bounded()).toThrow('redis.tls.caFile: the file cannot be read.');
  });

  it('logs an outage once, without the address', async () => {
    const { made, lines } = connect({ host: '127.0.0.1', port: 1, username: 'alice', password: 's3cret' });
    const connection = made.patient();
    let attempts = 0;
    await new Promise<void>((resolve) => {
      connection.on('reconnecting', () => {
        attempts += 1;
        if (attempts === 2) resolve();
      });
    });
    made.close();
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'redisUnavailable', reason: 'ECONNREFUSED' });
    expect(lines[0]).not.toMatch(/127\.0\.0\.1|alice|s3cret/);
  });

  it('closes the copies of a waiting connection', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { made } = connect({ host: '127.0.0.1', port });
    const copy = made.patient().duplicate();
    await once(copy, 'connect');
    const ended = once(copy, 'end');
    made.close();
    await ended;
    server.close();
  });
});
