import { expect, test } from 'vitest';
import { runConvoy as convoy } from '@convoy/cli/environment/fleet/run-convoy';
import type { OpenApiDocument } from '@convoy/api/http/openapi';
import { answerChecker } from '../packages/api/test/unit/http/described-answers.js';
import { runCommand } from '../packages/cli/test/command-host.js';
import { Clusters, untilCanCommit } from './fleet.js';
import { needs } from './requirements.js';

/** What a service answers now, compared with its own OpenAPI document. */
async function expectDescribedAnswers(url: string, paths: readonly string[]): Promise<void> {
  const check = answerChecker((await (await fetch(`${url}/api/v1/openapi.json`)).json()) as OpenApiDocument);
  for (const path of paths) {
    const reply = await fetch(`${url}${path}`);
    expect(check('GET', path, reply.status, await reply.json())).toEqual([]);
  }
  const refused = await fetch(`${url}/api/v1/resume`, { method: 'POST', body: '{}' });
  expect(check('POST', '/api/v1/resume', refused.status, await refused.json())).toEqual([]);
}

test(
  'a migration from the command line, with pause and resume (servers from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    await using clusters = await Clusters.little({ source: { shards: 2 }, destination: { shards: 2 } });
    await using fleet = await clusters.startFleetHere();
    const service = ['--url', fleet.coordinator.url];

    // The coordinator sees an instance a moment after it is ready.
    await expect
      .poll(() => convoy('progress', ...service), { timeout: 60_000, interval: 500 })
      .toMatchObject({ code: 0, stdout: expect.stringMatching(/^IDLE\nNext: Run convoy check/) as string });
    expect(await convoy('start', '--no-verification', '--wait', ...service)).toMatchObject({ code: 0, stderr: '' });
    const watching = convoy('watch', ...service);
    await expectDescribedAnswers(fleet.coordinator.url, ['/api/v1/progress', '/api/v1/instances', '/readyz']);
    await expectDescribedAnswers(fleet.instances[0]?.url ?? '', ['/api/v1/progress', '/readyz']);
    expect(await convoy('pause', '--wait', ...service)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Next: Run convoy resume') as string,
    });
    expect(await convoy('resume', '--wait', ...service)).toMatchObject({ code: 0, stderr: '' });
    await untilCanCommit(fleet.coordinator.client);
    expect(await convoy('commit', '--wait', ...service)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Next: Point the writers at the destination') as string,
    });
    const watched = await watching;
    expect(watched.code).toBe(0);
    expect(watched.stdout).toContain('COMMITTED');
    expect(
      JSON.parse((await convoy('progress', '--json', '--url', fleet.instances[0]?.url ?? '')).stdout),
    ).toMatchObject({ state: 'COMMITTED', canWrite: true });
    expect(await convoy('reverse', ...service)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('notReversible') as string,
    });

    await clusters.expectEqual();
  },
);

test(
  'a check says what is in the way, and changes nothing (servers from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    await using clusters = await Clusters.little({ source: { shards: 2 }, destination: { shards: 2 } });
    const settings = [
      '--cluster0',
      clusters.source.connectionString,
      '--cluster1',
      clusters.destination.connectionString,
    ];

    const free = await runCommand('check', '--no-verification', ...settings);
    expect(free).toMatchObject({ code: 0, stderr: '' });
    expect(free.stdout).toContain(`2 shards: ${clusters.source.shardIds.join(', ')}`);
    expect(free.stdout).toContain('A migration can start');
    const exposed = await runCommand('check', '--redis', 'redis://redis.example', '--no-verification', ...settings);
    expect(exposed).toMatchObject({ code: 0, stderr: '' });
    expect(exposed.stdout).toMatch(/! warning +redis +Redis is used without a password and TLS/);
    expect(exposed.stdout).toMatch(/! warning +fleetSecret +Messages in Redis are not signed/);
    const refused = await runCommand('check', '--json', '--memory-bytes-max', '64MB', ...settings);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({
      canStart: false,
      items: expect.arrayContaining([
        expect.objectContaining({ check: 'verification', error: 'verificationMemoryInsufficient' }),
      ]) as unknown,
    });
    expect(
      (await clusters.clients.destination.db().admin().listDatabases({ nameOnly: true })).databases
        .map(({ name }) => name)
        .filter((name) => !['admin', 'config', 'local'].includes(name)),
    ).toEqual([]);
  },
);

/** Collections of both sides: more than a person reads. */
const many = 130;
/** What a person reads of a finding: a line or two of a wide terminal. */
const findingMax = 2 * 120;

test('findings of a check are a line or two each, however much they name; --verbose lists it', async () => {
  await using clusters = await Clusters.little({ source: 'replicaSet', destination: 'replicaSet' });
  const { source, destination } = clusters;
  const named = Array.from({ length: many }, (_, n) => `collection-of-a-service-with-a-long-name-${n}`);
  for (const client of [clusters.clients.source, clusters.clients.destination])
    for (const name of named) await client.db('services').collection(name).insertOne({ name });
  const settings = ['--cluster0', source.connectionString, '--cluster1', destination.connectionString];
  const absent = named.map((name) => ({ database: 'nowhere', collections: [name] }));

  for (const options of [[], ['--include', JSON.stringify([{ database: 'services' }, ...absent])]]) {
    const check = ['check', '--no-verification', ...options, ...settings];
    const short = await runCommand(...check);
    expect(short).toMatchObject({ code: 1, stderr: '' });
    expect(namesIn(short.stdout)).toEqual([]);
    if (options.length === 0)
      expect(namesIn((await runCommand(...check, '--verbose')).stdout)).toEqual(
        expect.arrayContaining(named.map((name) => `services.${name}`)),
      );
    const { items } = JSON.parse((await runCommand(...check, '--json')).stdout) as { items: { description: string }[] };
    const texts = items.map(({ description }) => description);
    expect(texts.filter((text) => text.length > findingMax)).toEqual([]);
  }
});

/** The names in the lists of a report, which stand below their findings. */
function namesIn(report: string): string[] {
  return report.split('\n').flatMap((line) => /^ {2}(\S+)$/.exec(line)?.[1] ?? []);
}

test('wrong usage, wrong settings and an absent service have different exit codes', async () => {
  expect((await runCommand('no-such-command')).code).toBe(2);
  expect((await runCommand('start', '--include', 'no json')).code).toBe(2);
  expect((await runCommand('progress', '--url', 'http://127.0.0.1:1')).code).toBe(3);
  const unreachable = 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100';
  const checked = await runCommand('check', '--cluster0', unreachable, '--cluster1', unreachable);
  expect(checked).toMatchObject({ code: 3, stderr: '' });
  expect(checked.stdout).toMatch(
    /sourceUnavailable: .* 127\.0\.0\.1:1: .*\n.*destinationUnavailable: .*127\.0\.0\.1:1: /,
  );
  expect(checked.stdout).toMatch(/A migration cannot start: clusters\.\n$/);
  const misconfigured = await convoy('instance', '--cluster0', 'mongodb://user:secret@127.0.0.1', '--port', 'x');
  expect(misconfigured).toMatchObject({ code: 1 });
  expect(misconfigured.stderr).toContain('cluster1');
  expect(misconfigured.stderr).not.toContain('secret');
});
