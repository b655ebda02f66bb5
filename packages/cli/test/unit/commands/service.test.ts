import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { clientOf } from '@convoy/cli/commands/service';

describe('the address of a service', () => {
  it.each([
    ['with a scheme', 'http://'],
    ['without one', ''],
  ])('may be given %s', async (_, scheme) => {
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await clientOf({ url: `${scheme}127.0.0.1:${port}` })
      .progress()
      .catch(() => undefined);
    server.close();
    expect(asked).toEqual(['/api/v1/progress']);
  });
});
