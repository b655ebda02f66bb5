import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MongoClient } from 'mongodb';
import { expect, onTestFinished, test } from 'vitest';
import { convoyProgram } from '@convoy/cli/environment/fleet/convoy-program';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { loadEverything } from './data.js';
import { Clusters, defaultStart, untilCanCommit } from './fleet.js';
import { needs } from './requirements.js';
import { Workload } from './workload.js';

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `convoy` with arguments to its end; its state goes into `home`. */
function convoy(home: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [convoyProgram, ...args],
      { env: { ...process.env, XDG_STATE_HOME: home } },
      (error, stdout, stderr) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
      },
    );
  });
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'convoy-verify-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** How long a process of a machine under load may take to come to a step. */
const stepLimit_ms = 60_000;

/** Waits for steps in the journal of the only comparison under a folder. */
async function untilJournalHas(home: string, steps: readonly string[]): Promise<void> {
  const folder = join(home, 'convoy');
  await pollUntil(`the journal has ${steps.join(' and ')}`, stepLimit_ms, () => {
    try {
      const [name = ''] = readdirSync(folder);
      const journal = readFileSync(join(folder, name, 'journal.ndjson'), 'utf8');
      return steps.every((step) => journal.includes(step));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  });
}

interface Item {
  _id: number;
  secret: string;
}

const items = (client: MongoClient) => client.db('shop').collection<Item>('items');

/** The same on both sides. */
async function load(clusters: Clusters, documents: number): Promise<void> {
  for (const client of [clusters.clients.source, clusters.clients.destination]) {
    const portions = Math.ceil(documents / 5_000);
    for (let portion = 0; portion < portions; portion += 1) {
      const size = Math.min(5_000, documents - portion * 5_000);
      await items(client).insertMany(
        Array.from({ length: size }, (_, index) => ({ _id: portion * 5_000 + index, secret: `hush${index}` })),
      );
    }
    await items(client).createIndexes([{ key: { secret: 1 }, name: 'secret_1' }]);
  }
}

test('two clusters are compared from the command line, and a report says with what result', async () => {
  await using clusters = await Clusters.start({ source: { shards: 2 }, destination: { shards: 3 } });
  await load(clusters, 3_000);
  const folder = newFolder();
  const [report, mismatches] = [join(folder, 'report.md'), join(folder, 'mismatches.ndjson')];
  const both = [
    'verify',
    '--source',
    clusters.source.connectionString,
    '--destination',
    clusters.destination.connectionString,
    '--settle',
    '0',
  ];

  const equal = await convoy(folder, ...both, '--report', report);
  expect(equal).toMatchObject({ code: 0, stdout: expect.stringContaining('EQUAL') as string });
  expect(readFileSync(report, 'utf8')).toContain('3,000 documents of the source, 3,000 of the destination');

  const destination = clusters.clients.destination;
  await items(destination).updateOne({ _id: 7 }, { $set: { secret: 'wrong' } });
  await items(destination).deleteOne({ _id: 8 });
  await destination.db('shop').collection('items').dropIndex('secret_1');
  const different = await convoy(folder, ...both, '--report', report, '--mismatches', mismatches, '--json');
  expect(different.code).toBe(1);
  expect(JSON.parse(different.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
    event: 'result',
    verdict: 'different',
    totals: { mismatches: 2 },
    differences: [{ kind: 'index', namespace: 'shop.items', detail: 'secret_1 is missing' }],
  });
  const lines = readFileSync(mismatches, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  expect(lines).toMatchObject([
    {
      namespace: 'shop.items',
      kind: 'different',
      _id: { $numberInt: '7' },
      paths: [{ path: 'secret', kind: 'changed', sourceType: 'string', destinationType: 'string' }],
    },
    { namespace: 'shop.items', kind: 'missingOnDestination', _id: { $numberInt: '8' } },
  ]);
  const text = readFileSync(report, 'utf8');
  expect(text).toContain('**DIFFERENT');
  expect(text).toContain('`shop.items` index: secret_1 is missing');
  expect(text).toContain('shop.items different {"$numberInt":"7"}: secret (string)');
  expect(text + readFileSync(mismatches, 'utf8') + different.stdout + different.stderr).not.toMatch(/hush|wrong/);

  const filtered = await convoy(folder, ...both, '--exclude', '[{"database":"shop"}]');
  expect(filtered).toMatchObject({ code: 0, stdout: expect.stringContaining('0 collections') as string });
  expect((await convoy(folder, 'verify', '--source', clusters.source.connectionString)).code).toBe(1);
  expect((await convoy(folder, ...both, '--generations', '1')).code).toBe(2);
});

test('a comparison that is interrupted or killed goes on where it was', async () => {
  await using clusters = await Clusters.start({ source: { shards: 1 }, destination: { shards: 1 } });
  const documents = 20_000;
  await load(clusters, documents);
  const folder = newFolder();
  const wrong = [5, 12_000, 19_000];
  await items(clusters.clients.destination).deleteMany({ _id: { $in: wrong } });
  const mismatches = join(folder, 'mismatches.ndjson');
  const args = [
    'verify',
    '--source',
    clusters.source.connectionString,
    '--destination',
    clusters.destination.connectionString,
    '--settle',
    '16',
    '--mismatches',
    mismatches,
  ];
  const endings = [
    { signal: 'SIGINT', steps: ['"run":1', '"step":"done"'], code: 130 },
    { signal: 'SIGKILL', steps: ['"run":2', '"step":"look"'], code: null },
  ] as const;
  for (const { signal, steps, code } of endings) {
    const child: ChildProcess = spawn(process.execPath, [convoyProgram, ...args, '--json'], {
      env: { ...process.env, XDG_STATE_HOME: folder },
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    const ended = once(child, 'exit');
    await untilJournalHas(folder, steps);
    child.kill(signal);
    expect(await ended).toEqual([code, code === null ? signal : null]);
  }
  const last = await convoy(folder, ...args, '--json');
  expect(last.code).toBe(1);
  expect(last.stderr).toContain('Continuing with the state');
  expect(JSON.parse(last.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
    verdict: 'different',
    runs: 3,
    totals: {
      sourceDocuments: documents,
      destinationDocuments: documents - wrong.length,
      mismatches: wrong.length,
      suspects: 0,
    },
  });
  const ids = readFileSync(mismatches, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { _id: { $numberInt: string } })._id.$numberInt);
  expect(ids).toEqual(wrong.map(String));
});

test(
  'what a migration has moved is equal, collections of every kind included (servers from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    await using clusters = await Clusters.start({ source: { shards: 2 }, destination: { shards: 2 } });
    const orders = 3_000;
    await loadEverything(clusters.clients.source, clusters.source, orders);
    await using instance = await clusters.startLoneInstance();
    await using workload = Workload.start(clusters.clients.source, orders);
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    await workload.stop();
    await clusters.commit(instance.client);

    const both = [
      'verify',
      '--source',
      clusters.source.connectionString,
      '--destination',
      clusters.destination.connectionString,
      '--settle',
      '0',
      '--json',
    ];
    const result = async () =>
      JSON.parse((await convoy(newFolder(), ...both)).stdout.trim().split('\n').at(-1) ?? '') as unknown;
    expect(await result()).toMatchObject({ verdict: 'equal', differences: [], notCompared: [] });
    await clusters.clients.destination
      .db('e2e')
      .collection<{ _id: number; number: number }>('mixed')
      .updateOne({ _id: NaN }, { $set: { number: -1 } });
    expect(await result()).toMatchObject({ verdict: 'different', differences: [], totals: { mismatches: 1 } });
  },
);
