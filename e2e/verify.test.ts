import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { convoyProgram } from '@convoy/cli/environment/fleet/convoy-program';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { Clusters } from './fleet.js';
import { convoy, newFolder, resultIn, verifyOf } from './verify-command.js';

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
    await items(client).insertMany(Array.from({ length: documents }, (_, _id) => ({ _id, secret: `hush${_id}` })));
    await items(client).createIndexes([{ key: { secret: 1 }, name: 'secret_1' }]);
  }
}

test('two clusters are compared from the command line, and a report says with what result', async () => {
  await using clusters = await Clusters.start({ source: { shards: 2 }, destination: { shards: 3 } });
  await load(clusters, 3_000);
  const folder = newFolder();
  const [report, mismatches] = [join(folder, 'report.md'), join(folder, 'mismatches.ndjson')];
  const both = verifyOf(clusters, 0);

  const equal = await convoy(folder, ...both, '--report', report);
  expect(equal).toMatchObject({ code: 0, stdout: expect.stringContaining('EQUAL') as string });
  expect(readFileSync(report, 'utf8')).toContain('3,000 documents of the source, 3,000 of the destination');

  const destination = clusters.clients.destination;
  await items(destination).updateOne({ _id: 7 }, { $set: { secret: 'wrong' } });
  await items(destination).deleteOne({ _id: 8 });
  await destination.db('shop').collection('items').dropIndex('secret_1');
  const different = await convoy(folder, ...both, '--report', report, '--mismatches', mismatches, '--json');
  expect(different.code).toBe(1);
  expect(resultIn(different.stdout)).toMatchObject({
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
  const documents = 5_000;
  await load(clusters, documents);
  const folder = newFolder();
  const wrong = [5, 3_000, 4_900];
  await items(clusters.clients.destination).deleteMany({ _id: { $in: wrong } });
  const mismatches = join(folder, 'mismatches.ndjson');
  const args = [...verifyOf(clusters, 16), '--mismatches', mismatches];
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
  expect(resultIn(last.stdout)).toMatchObject({
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
