import { expect, test } from 'vitest';
import { convoyProgram } from '@convoy/cli/environment/fleet/convoy-program';
import { runConvoy } from '@convoy/cli/environment/fleet/run-convoy';
import { Child } from '@convoy/testbed/process/child';
import { freePort } from '@convoy/testbed/process/free-port';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';

const within_ms = 60_000;
const remedy =
  'cannot be reached: HOST: the connection was refused (ECONNREFUSED). Check the port, and that the server runs and ' +
  'listens on this address. The instance tries again.';

function withoutHosts(text: string): string {
  return text.replaceAll(/127\.0\.0\.1:\d+/g, 'HOST');
}

test('an instance that waits for its clusters says so in progress, /readyz and to a start', async () => {
  using folder = ScratchFolder.create('test');
  const clusters = await Promise.all([freePort(), freePort()]);
  const [cluster0, cluster1] = clusters.map((port) => `mongodb://127.0.0.1:${port}/?serverSelectionTimeoutMS=5000`);
  const url = `http://127.0.0.1:${await freePort()}`;
  await using instance = await Child.start({
    name: 'instance',
    command: process.execPath,
    args: [convoyProgram, 'instance', '--port', new URL(url).port],
    env: { CONVOY_CLUSTER0: cluster0 ?? '', CONVOY_CLUSTER1: cluster1 ?? '' },
    ready: /"event":"listening"/,
    readyWithin_ms: within_ms,
    logFile: folder.file('instance.log'),
  });
  expect(instance.ready).toBeDefined();
  await expect
    .poll(async () => withoutHosts((await runConvoy('progress', '--url', url)).stdout), { timeout: within_ms })
    .toEqual(expect.stringMatching(/^INITIALIZING[\s\S]*! waitingForCluster: [\s\S]*! waitingForCluster: /) as unknown);
  const { stdout } = await runConvoy('progress', '--url', url);
  for (const name of ['cluster0', 'cluster1']) expect(withoutHosts(stdout)).toContain(`${name} ${remedy}`);
  expect(stdout).toContain(`127.0.0.1:${clusters[0]}`);
  const reply = await fetch(`${url}/readyz`);
  const { errorDescription } = (await reply.json()) as { errorDescription: string };
  expect(reply.status).toBe(503);
  for (const name of ['cluster0', 'cluster1'])
    expect(errorDescription).toContain(
      `${name} ${remedy.replace('HOST: ', '').replace(' The instance tries again.', '')}`,
    );
  expect(errorDescription).not.toContain('127.0.0.1');
  const { stderr } = await runConvoy('start', '--url', url);
  expect(stderr).toContain(
    `the present state is INITIALIZING. ${errorDescription} Repeat start once the state is IDLE.`,
  );
});
