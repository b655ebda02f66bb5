import { readFileSync, writeFileSync } from 'node:fs';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { convoyProgram } from '@convoy/cli/environment/fleet/convoy-program';
import { Closers } from '@convoy/testbed/closers';
import { backendVersion } from '@convoy/testbed/cluster/server-version';
import { startLocalCluster, type LocalCluster } from '@convoy/testbed/cluster/local-cluster';
import { Child } from '@convoy/testbed/process/child';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { runCommand } from '../../command-host.js';

const readyWithin_ms = 60_000;

/** A probe that these servers are too old or too young for. */
const [release] = await backendVersion();
const other =
  release < 6
    ? { name: 'block-refuses-writes', releases: 'from 6.0 on' }
    : { name: 'unknown-options-are-refused', releases: 'before 6.0' };

describe('convoy probe', () => {
  const closers = new Closers();
  let cluster: LocalCluster;
  let client: MongoClient;
  let folder: ScratchFolder;

  beforeAll(async () => {
    cluster = await startLocalCluster({ topology: { shards: 2 }, withUsers: true, noopInterval_ms: 20 });
    closers.defer(() => cluster.close());
    client = closers.use(new MongoClient(cluster.connectionStringOf('root')));
    folder = closers.use(ScratchFolder.create('probe'));
  });

  afterAll(() => closers[Symbol.asyncDispose]());

  const uri = (): string => cluster.connectionStringOf('root');

  async function scratchDatabases(): Promise<string[]> {
    const { databases } = await client.db('admin').admin().listDatabases({ nameOnly: true });
    return databases.map(({ name }) => name).filter((name) => name.startsWith('convoy_probe'));
  }

  /** A run that is in progress after one finished probe. */
  function started(name: string): Promise<Child> {
    return Child.start({
      name,
      command: process.execPath,
      args: [convoyProgram, 'probe', '--cluster', uri()],
      ready: /holds {2}/,
      readyWithin_ms,
      logFile: folder.file(`${name}.log`),
    });
  }

  test('reports each outcome, exits with 0, leaves nothing, and records no addresses or passwords', async () => {
    const file = folder.file('recording.jsonl');
    writeFileSync(folder.file('cluster'), uri());
    const ended = await runCommand(
      'probe',
      '--cluster0-file',
      folder.file('cluster'),
      '--cluster1-file',
      folder.file('cluster'),
      '--only',
      'find-at-a-time',
      'use-uuid-is-needed',
      other.name,
      '--record',
      file,
    );
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toContain('✓ holds          find-at-a-time\n');
    expect(ended.stdout).toContain(`- not tried      ${other.name}: it is about other releases: ${other.releases}\n`);
    expect(ended.stdout).toMatch(
      /^Sharded cluster, [\d.]+, with access control: 2 hold, 0 do not, 1 were not tried; [\d.]+ s\.$/m,
    );
    expect(await scratchDatabases()).toEqual([]);
    const recording = readFileSync(file, 'utf8');
    const ports = [...new URL(uri().split(',')[0] ?? '').host.matchAll(/\d{4,5}$/g)].map(([port]) => port);
    // Other numbers may hold its digits.
    for (const port of ports) expect(recording).not.toMatch(new RegExp(`\\b${port}\\b`));
    for (const own of [':secret', 'convoy_probe_']) expect(recording).not.toContain(own);
    const lines = recording
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines[0]).toMatchObject({ scenario: 'probes' });
    expect(lines.slice(1).map(({ step }) => step)).toEqual(lines.slice(1).map((_, index) => index + 1));
    expect(new Set(lines.slice(1).flatMap(({ on }) => (on === undefined ? [] : [on])))).toEqual(
      new Set(['router', 'shard0']),
    );
  });

  test('prints its report as JSON, and lists probes without a cluster', async () => {
    const { code, stdout } = await runCommand('probe', '--cluster', uri(), '--only', 'limits-are-reported', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      topology: 'sharded',
      hasUsers: true,
      left: null,
      findings: [{ name: 'limits-are-reported', outcome: 'holds' }],
    });
    const listed = await runCommand('probe', '--list', '--only', 'limits-are-reported');
    expect(listed.stdout.split('\n')[0]).toBe('limits-are-reported');
  });

  test('exits with 1 for an unknown name, and with 3 without a response', async () => {
    expect(await runCommand('probe', '--cluster', uri(), '--only', 'nothing')).toMatchObject({ code: 1, stdout: '' });
    const nowhere = 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100';
    const { code, stdout } = await runCommand('probe', '--json', '--cluster', nowhere);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ success: false, error: 'sourceUnavailable' });
  });

  test('removes its scratch database when it is interrupted', async () => {
    const run = await started('interrupted');
    process.kill(run.pid, 'SIGINT');
    expect(await run.exited).toMatchObject({ code: 130 });
    expect(await scratchDatabases()).toEqual([]);
  });

  test('removes the database of a killed run', async () => {
    const run = await started('killed');
    const [left] = await scratchDatabases();
    await run.kill();
    expect(left).toBeDefined();
    const { stdout } = await runCommand('probe', '--cluster', uri(), '--only', 'limits-are-reported');
    expect(stdout).toContain(`Removed ${left} of an earlier run.`);
    expect(await scratchDatabases()).toEqual([]);
  });
});
