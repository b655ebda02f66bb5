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

  it.each([
    ['mongodb', 'mongodb://u:secret@db.example/', 'not with mongodb://.'],
    ['Redis', 'redis://:secret@127.0.0.1:6379', 'not with redis://.'],
    ['no address', 'http://127.0.0.1:999999', '--url is not an address.'],
  ])('of %s is refused by name, without what follows the scheme', (_, url, part) => {
    const refused = (): unknown => clientOf({ url });
    expect(refused).toThrow(part);
    expect(refused).not.toThrow('secret');
  });
});
