import { readFileSync, writeFileSync } from 'node:fs';
import { fleetLogRecordSchema } from '@convoy/api/contract/log-record';
import { CoordinatorProcess } from '@convoy/cli/environment/fleet/coordinator-process';
import { convoyProgram, listensLine, listensWithin_ms } from '@convoy/cli/environment/fleet/convoy-program';
import { Closers } from '@convoy/testbed/closers';
import { Child } from '@convoy/testbed/process/child';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { findRedis } from '@convoy/testbed/redis/find-redis';
import { runCommand } from '../../command-host.js';
import { expect, test } from 'vitest';

const password = 'hidden';
/** No server listens there. */
const nobody = `mongodb://user:${password}@127.0.0.1:1/`;

test('logs prints the warnings of an instance that the coordinator has, and a log is JSON only', async () => {
  await using closers = new Closers();
  const folder = closers.use(ScratchFolder.create('logs'));
  const redis = closers.use(await findRedis(folder));
  const membership = { redis: redis.url, fleet: `logs-${process.pid}` };
  const coordinator = closers.use(await CoordinatorProcess.start(membership, folder));
  const run = async (name: string, ready: RegExp, ...args: string[]): Promise<string> => {
    const logFile = folder.file(`${name}.log`);
    const command = { name, command: process.execPath, args: [convoyProgram, ...args] };
    closers.use(await Child.start({ ...command, ready, readyWithin_ms: listensWithin_ms, logFile }));
    return logFile;
  };
  const clusterFile = folder.file('cluster');
  writeFileSync(clusterFile, nobody);
  const clusters = { 'cluster0-file': clusterFile, 'cluster1-file': clusterFile };
  const settings = Object.entries({ ...membership, ...clusters, id: 'shard0', port: '0' });
  const log = await run(
    'instance',
    listensLine,
    'instance',
    ...settings.flatMap(([name, value]) => [`--${name}`, value]),
  );
  const url = ['--url', coordinator.url];
  await run('follower', /"event":"retry".*"instance":"shard0"/, 'logs', '--follow', '--json', ...url);
  const printed = await runCommand('logs', '--json', ...url);
  const records = printed.stdout
    .trim()
    .split('\n')
    .map((line) => fleetLogRecordSchema.parse(JSON.parse(line)));
  expect(records.at(-1)).toMatchObject({ level: 'warn', event: 'retry', instance: 'shard0' });
  expect((await runCommand('logs', ...url)).stdout).toMatch(/ warn {3}shard0 {2}retry {2}/);
  expect(printed.stdout).not.toContain(password);
  const lines = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  expect(lines.length).toBeGreaterThan(1);
  const named = { level: expect.stringMatching(/^[a-z]+$/) as string, event: expect.any(String) as string };
  for (const line of lines) expect(line).toMatchObject(named);
});
