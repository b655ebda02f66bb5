import { expect, test } from 'vitest';
import type { CommandResult } from '@convoy/cli/environment/fleet/run-convoy';
import { runCommand } from '../packages/cli/test/command-host.js';
import { Clusters } from './fleet.js';

function settingsOf({ source, destination }: Clusters): string[] {
  return ['--cluster0', source.connectionString, '--cluster1', destination.connectionString];
}

test('convoy cleanup shows what it will do, does nothing unasked, and does it with --yes', async () => {
  await using clusters = await Clusters.start({ source: 'replicaSet', destination: 'replicaSet' });
  const cleanup = (...flags: string[]): Promise<CommandResult> =>
    runCommand('cleanup', ...settingsOf(clusters), ...flags);
  expect(await cleanup()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^There is nothing to clean up/) as unknown,
  });
  const metadata = clusters.clients.destination.db('convoy_metadata');
  await metadata.collection('tasks').insertOne({ n: 1 });
  const step = '  1. Drop all collections of convoy_metadata on cluster1.\n';
  expect(await cleanup()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(step) as unknown,
    stderr: expect.stringMatching(/--yes/) as unknown,
  });
  expect(await metadata.listCollections().toArray()).toHaveLength(1);
  const planned = await cleanup('--json');
  expect(planned).toMatchObject({ code: 1, stderr: '' });
  expect(JSON.parse(planned.stdout)).toMatchObject({
    isDone: false,
    steps: [{ description: 'Drop all collections of convoy_metadata on cluster1.' }],
  });
  expect(await metadata.listCollections().toArray()).toHaveLength(1);
  expect(await cleanup('--yes')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(new RegExp(`${step}[^]*\nDone\\.`)) as unknown,
  });
  expect(await metadata.listCollections().toArray()).toEqual([]);
});

test('convoy unblock lifts the block of a cluster, and says where servers have none', async () => {
  await using clusters = await Clusters.start({ source: 'replicaSet', destination: 'replicaSet' });
  const { version } = clusters.source;
  const ended = await runCommand('unblock', 'cluster0', ...settingsOf(clusters));
  if (version[0] >= 6)
    expect(ended).toMatchObject({ code: 0, stdout: 'cluster0 accepts user writes again.\n', stderr: '' });
  else
    expect(ended).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`writeBlockingFailed: cluster0 runs ${version.join('.')}`) as string,
    });
});
