import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { listenOn } from '@convoy/api/http/listen';

it('names a taken port with its address and the setting to change', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  try {
    const expected = {
      error: 'addressTaken',
      errorDescription:
        `Another program already listens on 127.0.0.1:${port}. ` +
        'Stop it or set another port (--port or CONVOY_PORT).',
    };
    await expect(listenOn(Fastify(), { listen: '127.0.0.1', port })).rejects.toMatchObject(expected);
  } finally {
    holder.close();
  }
});

it.each([
  ['EACCES', 80, /^port: .* 127\.0\.0\.1:80;/],
  ['EADDRNOTAVAIL', 5000, /^listen: 127\.0\.0\.1 is not an address/],
] as const)('what the system refuses with %s names the setting', async (code, port, text) => {
  const app = { listen: () => Promise.reject(Object.assign(new Error('listen'), { code })) };
  await expect(listenOn(app, { listen: '127.0.0.1', port })).rejects.toMatchObject({
    error: 'invalidConfiguration',
    errorDescription: expect.stringMatching(text) as unknown,
  });
});

it('passes on errors that do not concern the address', async () => {
  const failure = new Error('out of files');
  await expect(listenOn({ listen: () => Promise.reject(failure) }, { listen: '127.0.0.1', port: 0 })).rejects.toBe(
    failure,
  );
});
