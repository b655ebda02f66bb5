import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { convoyProgram } from '@convoy/cli/environment/fleet/convoy-program';
import { runConvoy } from '@convoy/cli/environment/fleet/run-convoy';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';

/** A service that answers nothing, so that commands wait. */
const server = createServer();

beforeEach(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

test.runIf(process.platform === 'linux')('the list of processes does not show a token', async () => {
  const child = spawn(process.execPath, [convoyProgram, 'progress', '--url', url(), '--token', 's3cret']);
  let warned = '';
  child.stderr.on('data', (text: Buffer) => (warned += text.toString()));
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  expect(request.headers.authorization).toBe('Bearer s3cret');
  const line = readFileSync(`/proc/${child.pid ?? 0}/cmdline`, 'utf8').replace(/\0+/g, ' ');
  expect(line).not.toContain('s3cret');
  expect(line).toContain(`convoy progress --url ${url()} --token ***`);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(warned).toContain('Use --token-file.');
});

test('a token comes from a file', async () => {
  using folder = ScratchFolder.create('test');
  writeFileSync(folder.file('token'), 's3cret\n');
  const asked = once(server, 'request') as Promise<[IncomingMessage]>;
  const ended = runConvoy('progress', '--url', url(), '--token-file', folder.file('token'));
  const [request] = await asked;
  expect(request.headers.authorization).toBe('Bearer s3cret');
  server.closeAllConnections();
  expect((await ended).stderr).not.toContain('Warning');
});

test('an error of a YAML file has its line, and no secret', async () => {
  using folder = ScratchFolder.create('test');
  writeFileSync(folder.file('convoy.yaml'), 'cluster0: mongodb://user:s3cret@h/\ncluster1: s3cret\nprot: 1\n');
  const ended = await runConvoy('instance', '--config', folder.file('convoy.yaml'), '--partition_seconds', '0');
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain('Warning: --partition_seconds is now --partition-seconds.\n');
  expect(ended.stderr).toContain('cluster1 (convoy.yaml, line 2): must begin with mongodb://');
  expect(ended.stderr).toContain('prot (convoy.yaml, line 3): unknown setting');
  expect(ended.stderr).toContain('--partition-seconds: ');
  expect(ended.stderr).not.toContain('s3cret');
});
