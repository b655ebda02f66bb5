import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { countText } from '@convoy/coordinator/dashboard/views/quantity';
import { MongoClient, type Collection } from 'mongodb';
import { isInterruption } from '../commands/interruption.js';
import { demoSizes, loadDemoData } from './load.js';
import { Workload } from './workload.js';

/** How far a loader is, on the cluster itself, so that it outlives the process. */
interface LoaderState {
  _id: 'loader';
  /** An orderly end stops the writers for good, as before a cut-over; a process that was killed goes on. */
  phase: 'loading' | 'writing' | 'stopped';
}

export interface LoaderOptions {
  connectionString: string;
  documents: number;
  operationsPerSecond: number;
  seed: number;
  /** Time after which the writes end by themselves: a demo that somebody forgets must not fill the memory. */
  writesAtMost_ms: number;
  /** Called once everything is loaded. */
  onLoaded: () => void;
  say: (text: string) => void;
}

/** As in `convoy demo`. */
const operationsPerSecond = 500;
/** Adds about 200 MB. */
const writesAtMost_ms = 20 * 60_000;

/**
 * Fills a cluster and writes to it at the pace of `convoy demo`.
 * @param signal ends the writes for good
 * @throws as `runLoader`; nothing once the signal is aborted
 */
export async function fillUntil(
  options: Pick<LoaderOptions, 'connectionString' | 'documents' | 'say'> & Partial<Pick<LoaderOptions, 'onLoaded'>>,
  signal: AbortSignal,
): Promise<void> {
  const pace = { operationsPerSecond, writesAtMost_ms, seed: randomInt(2 ** 31), onLoaded: () => undefined };
  try {
    await runLoader({ ...pace, ...options }, signal);
  } catch (error) {
    if (!signal.aborted && !isInterruption(error)) throw error;
  }
}

/** Databases of the demo's data. */
const databases = ['geo', 'climate'];

/**
 * Fills a cluster with the demo's data and writes to it, as `convoy demo` does. A process that starts again continues.
 * @param signal ends the writes for good
 * @returns once there is nothing left to write
 * @throws Error when the databases are there already and not of a loader; what the driver throws
 */
export async function runLoader(options: LoaderOptions, signal: AbortSignal): Promise<void> {
  await using client = new MongoClient(options.connectionString);
  const states = client.db('demo').collection<LoaderState>('loader');
  const known = (await states.findOne({ _id: 'loader' }))?.phase;
  if (known === undefined) await refuseOthersData(client);
  if (known === undefined || known === 'loading') {
    await setPhase(states, 'loading');
    await load(client, options, signal);
    await setPhase(states, 'writing');
  }
  options.onLoaded();
  if (known === 'stopped') {
    options.say('The writers were stopped for good. To begin anew, start the cluster without its data.');
    return;
  }
  await write(client, options, signal);
  await setPhase(states, 'stopped');
}

async function setPhase(states: Collection<LoaderState>, phase: LoaderState['phase']): Promise<void> {
  await states.updateOne({ _id: 'loader' }, { $set: { phase } }, { upsert: true });
}

async function refuseOthersData(client: MongoClient): Promise<void> {
  const { databases: present } = await client.db('admin').admin().listDatabases({ nameOnly: true });
  const taken = present.map(({ name }) => name).filter((name) => databases.includes(name));
  if (taken.length > 0) throw new Error(`The cluster has databases of these names already: ${taken.join(', ')}.`);
}

/** Loads everything; what a killed loader has left is removed. */
async function load(client: MongoClient, { documents, say }: LoaderOptions, signal: AbortSignal): Promise<void> {
  const { shards } = await client.db('admin').command({ listShards: 1 });
  const ids = (shards as { _id: string }[]).map(({ _id }) => _id);
  for (const name of databases) await client.db(name).dropDatabase();
  say(`Loading ${countText(documents)} documents …`);
  const loaded = await loadDemoData(client, ids, demoSizes(documents), () => signal.throwIfAborted());
  say(`Loaded ${countText(loaded.documents)} documents in ${loaded.collections} collections`);
}

/** Writes until the signal or the time ends it. */
async function write(client: MongoClient, options: LoaderOptions, signal: AbortSignal): Promise<void> {
  const { operationsPerSecond, seed, writesAtMost_ms, say } = options;
  const measurements = client.db('climate').collection<{ _id: number }>('measurements');
  const [last] = await measurements.find().sort({ _id: -1 }).limit(1).toArray();
  say(`Writing ${operationsPerSecond} operations/s (seed ${seed})`);
  const workload = Workload.start({ client, measurements: (last?._id ?? -1) + 1, operationsPerSecond, seed });
  const end = AbortSignal.any([signal, AbortSignal.timeout(writesAtMost_ms)]);
  if (!end.aborted) await Promise.race([once(end, 'abort'), workload.ended]);
  const counts = Object.entries<number>({ ...(await workload.stop()) }).map(
    ([kind, count]) => `${countText(count)} ${kind}`,
  );
  say(`Stopped writing after ${counts.join(', ')}`);
}
