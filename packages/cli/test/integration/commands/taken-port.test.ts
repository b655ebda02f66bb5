import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runConvoy } from '@convoy/cli/environment/fleet/run-convoy';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { findRedis } from '@convoy/testbed/redis/find-redis';

let holder: Server;
let port: string;

beforeEach(async () => {
  holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  port = String((holder.address() as AddressInfo).port);
});

afterEach(() => {
  holder.close();
});

const refusal = (): unknown => ({
  code: 1,
  stdout: '',
  stderr:
    `addressTaken: Another program already listens on 127.0.0.1:${port}. Stop it or set another port (--port ` +
    `or CONVOY_PORT).\n`,
});

test('an instance with a taken port names the setting to change', async () => {
  const clusters = ['--cluster0', 'mongodb://127.0.0.1:1', '--cluster1', 'mongodb://127.0.0.1:2'];
  const ended = await runConvoy('instance', ...clusters, '--port', port, '--verbosity', 'FATAL');
  expect(ended).toEqual(refusal());
});

test('a coordinator with a taken port names the setting to change, and ends', async () => {
  using folder = ScratchFolder.create('taken-port');
  await using redis = await findRedis(folder);
  expect(await runConvoy('coordinator', '--redis', redis.url, '--port', port)).toEqual(refusal());
});
