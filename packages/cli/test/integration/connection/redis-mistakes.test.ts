import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { runConvoy } from '@convoy/cli/environment/fleet/run-convoy';

async function start(redis: string): Promise<string> {
  const { code, stderr } = await runConvoy('coordinator', '--port', '0', '--redis', redis);
  expect(code).toBe(3);
  return stderr.trim().replaceAll(/127\.0\.0\.1:\d+/g, 'HOST');
}

it('a coordinator whose Redis does not listen names address, cause and remedy', async () => {
  expect(await start('redis://127.0.0.1:1/0')).toBe(
    'redisUnavailable: Redis cannot be reached: HOST: the connection was refused (ECONNREFUSED). Check host and port ' +
      'in the URL of Redis, and that Redis runs and listens there.',
  );
});

it('a coordinator that asks a server without TLS for it names address, cause and remedy', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.resetAndDestroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  expect(await start(`rediss://127.0.0.1:${port}/0`)).toBe(
    'redisUnavailable: Redis cannot be reached: HOST: the connection was closed during the handshake (ECONNRESET). ' +
      'Use rediss:// if Redis requires TLS on this port, and redis:// if it has none.',
  );
  server.close();
});
