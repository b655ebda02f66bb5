import { execFile } from 'node:child_process';
import { expect, test } from 'vitest';
import { convoyProgram } from '@convoy/cli/environment/fleet/convoy-program';
import { loadEverything } from './data.js';
import { Clusters, untilCanCommit } from './fleet.js';
import { needs } from './requirements.js';

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `convoy` with arguments to its end. */
function convoy(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [convoyProgram, ...args], (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : 0;
      resolve({ code, stdout, stderr });
    });
  });
}

test('a migration from the command line, with pause and resume (servers from 5.0)', needs({ version: [5, 0] }), async () => {
  await using clusters = await Clusters.start({ source: { shards: 2 }, destination: { shards: 2 } });
  await loadEverything(clusters.clients.source, clusters.source, 5_000);
  await using fleet = await clusters.startFleet();
  const service = ['--url', fleet.coordinator.url];

  expect(await convoy('progress', ...service)).toMatchObject({ code: 0, stdout: expect.stringContaining('IDLE') as string });
  const refused = await convoy('commit', ...service);
  expect(refused.code).toBe(1);
  expect(refused.stderr).not.toBe('');
  expect((await convoy('start', '--no-verification', ...service)).code).toBe(0);
  const watching = convoy('watch', ...service);
  await untilCanCommit(fleet.coordinator.client);
  expect((await convoy('pause', ...service)).code).toBe(0);
  expect((await convoy('resume', ...service)).code).toBe(0);
  await untilCanCommit(fleet.coordinator.client);
  expect((await convoy('commit', ...service)).code).toBe(0);
  const watched = await watching;
  expect(watched.code).toBe(0);
  expect(watched.stdout).toContain('COMMITTED');
  expect(JSON.parse((await convoy('progress', '--json', '--url', fleet.instances[0]?.url ?? '')).stdout)).toMatchObject({ state: 'COMMITTED', canWrite: true });

  expect(await clusters.compare()).toMatchObject({ equal: true, differences: [] });
});

test('a check says what is in the way, and changes nothing (servers from 5.0)', needs({ version: [5, 0] }), async () => {
  await using clusters = await Clusters.start({ source: { shards: 2 }, destination: { shards: 2 } });
  await loadEverything(clusters.clients.source, clusters.source, 500);
  const settings = ['--cluster0', clusters.source.connectionString, '--cluster1', clusters.destination.connectionString];

  const free = await convoy('check', '--no-verification', ...settings);
  expect(free).toMatchObject({ code: 0, stderr: '' });
  expect(free.stdout).toContain('A migration can start');
  const refused = await convoy('check', '--json', ...settings);
  expect(refused.code).toBe(1);
  expect(JSON.parse(refused.stdout)).toMatchObject({ canStart: false, items: expect.arrayContaining([expect.objectContaining({ check: 'options', error: 'verificationNotAvailable' })]) as unknown });
  expect((await clusters.clients.destination.db().admin().listDatabases({ nameOnly: true })).databases.map(({ name }) => name).filter((name) => !['admin', 'config', 'local'].includes(name))).toEqual([]);
});

test('exit codes tell wrong usage, wrong settings and a service that is not there apart', async () => {
  expect((await convoy('no-such-command')).code).toBe(2);
  expect((await convoy('start', '--include', 'no json')).code).toBe(2);
  expect((await convoy('progress', '--url', 'http://127.0.0.1:1')).code).toBe(3);
  expect((await convoy('check', '--cluster0', 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100', '--cluster1', 'mongodb://127.0.0.1:1')).stderr).toContain('sourceUnavailable');
  const misconfigured = await convoy('instance', '--cluster0', 'mongodb://user:secret@127.0.0.1', '--port', 'x');
  expect(misconfigured).toMatchObject({ code: 1 });
  expect(misconfigured.stderr).toContain('cluster1');
  expect(misconfigured.stderr).not.toContain('secret');
});
