import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runLoader } from '@convoy/cli/demo/loader';
import { Closers } from '@convoy/testbed/closers';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';

const closers = new Closers();
let cluster: TestCluster;
let client: MongoClient;

beforeAll(async () => {
  const folder = closers.use(ScratchFolder.create('test'));
  cluster = closers.use(await startTestCluster({ name: 'source', topology: { shards: 2 }, folder, isHere: true }));
  client = new MongoClient(cluster.connectionString);
  closers.defer(() => client.close());
});

afterAll(() => closers[Symbol.asyncDispose]());

const measurements = () => client.db('climate').collection('measurements').countDocuments();
const states = () => client.db('demo').collection<{ _id: string; phase: string }>('loader');

/** Runs a loader until `end` is aborted, or until it has nothing left to write. */
async function load(end: AbortSignal, onLoaded: () => void = () => undefined): Promise<string[]> {
  const said: string[] = [];
  const options = { documents: 2_000, operationsPerSecond: 2_000, seed: 1, writesAtMost_ms: 600_000 };
  await runLoader(
    { ...options, connectionString: cluster.connectionString, onLoaded, say: (text) => said.push(text) },
    end,
  );
  return said;
}

test('a loader refuses databases of others, loads, goes on after a kill, and stays stopped after a stop', async () => {
  await client.db('geo').collection('places').insertOne({ name: 'of somebody' });
  await expect(load(new AbortController().signal)).rejects.toThrow('already: geo');
  expect(await client.db('geo').collection('places').countDocuments()).toBe(1);
  await client.db('geo').dropDatabase();

  const stop = new AbortController();
  const running = load(stop.signal);
  await expect.poll(measurements).toBeGreaterThan(500);
  await expect.poll(() => states().findOne()).toMatchObject({ phase: 'writing' });
  stop.abort();
  expect((await running).join('\n')).toMatch(/Loaded 2,000 documents[^]*Writing[^]*Stopped writing/);
  expect(await states().findOne()).toMatchObject({ phase: 'stopped' });

  const before = await measurements();
  expect(await load(new AbortController().signal)).toEqual([expect.stringContaining('were stopped') as string]);
  expect(await measurements()).toBe(before);

  // What a killed one has left: it goes on behind the last document, without loading again.
  await states().updateOne({ _id: 'loader' }, { $set: { phase: 'writing' } });
  const again = new AbortController();
  const resumed = load(again.signal);
  await expect.poll(measurements).not.toBe(before);
  again.abort();
  expect((await resumed).join('\n')).not.toContain('Loading');

  // One that was killed while it loaded begins anew.
  await states().updateOne({ _id: 'loader' }, { $set: { phase: 'loading' } });
  const anew = new AbortController();
  const said = await load(anew.signal, () => anew.abort());
  expect(said).toContain('Loaded 2,000 documents in 5 collections');
});
