import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runConvoy } from '@convoy/cli/environment/fleet/run-convoy';

let holder: Server;

beforeEach(async () => {
  holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
});

afterEach(() => {
  holder.close();
});

test('an instance with a taken port names the setting to change', async () => {
  const { port } = holder.address() as AddressInfo;
  const ended = await runConvoy(
    'instance',
    '--cluster0',
    'mongodb://127.0.0.1:1',
    '--cluster1',
    'mongodb://127.0.0.1:2',
    '--port',
    String(port),
    '--verbosity',
    'FATAL',
  );
  expect(ended).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `addressTaken: Another program already listens on 127.0.0.1:${port}. Stop it or set another port (--port ` +
      `or CONVOY_PORT).\n`,
  });
});
