import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { freePort } from '../../../src/process/free-port.js';

test('a free port is usable, and outgoing connections do not take it', async () => {
  const port = await freePort();
  expect(port).toBeLessThan(32_768);
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  server.close();
});

test('a port is returned only once, also to other processes', async () => {
  const port = await freePort();
  const other = createSocket('udp4');
  other.bind({ port, address: '127.0.0.1', exclusive: true });
  await expect(once(other, 'listening')).rejects.toMatchObject({ code: 'EADDRINUSE' });
  other.close();
});
