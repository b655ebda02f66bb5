import { readFileSync } from 'node:fs';
import { serversOf } from '@convoy/testbed/cluster/servers-of';
import type { Collection, MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from './fleet.js';
import { isFullRun, needs } from './requirements.js';

const isReal = serversOf('source').kind !== 'simulator';
/** More than one oplog entry, write batch and memory bound of an instance. */
const operations = !isFullRun ? 12_000 : isReal ? 501_000 : 121_000;
const perCommand = 1_000;
const kills = isFullRun ? 4 : 2;
/** What arrives between two kills at least. */
const betweenKills = operations / 20;
/** What a server takes longer for each write, so that a kill meets the middle: a batch has a thousand operations. */
const slower_ms = isFullRun ? 200 : 1_000;
/** For 501,000 operations on 8.0.10 a process had 238 MB at most; two thirds of that it has without work. */
const residentBytesMax = 300_000_000;

interface Row {
  _id: number;
  text: string;
}

test(
  `a transaction of ${operations} operations arrives whole, although the instance is killed within it again and again`,
  needs({ version: [5, 0] }),
  async () => {
    await using clusters = await Clusters.little({ source: 'replicaSet', destination: 'replicaSet' });
    const { source, destination } = clusters.clients;
    await using instance = await clusters.startLoneInstance({ memoryBytesMax: 100_663_296 });
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);

    const rows = source.db('shop').collection<Row>('rows');
    const copies = destination.db('shop').collection<Row>('rows');
    await rows.insertOne({ _id: -1, text: 'before' });
    await untilMore(copies, 0);
    await slowDown(destination, 'alwaysOn');
    await insertInOneTransaction(source, rows);
    const peaks = [await killsWithin(instance, copies)];
    await slowDown(destination, 'off');
    for (let kill = 0; kill < kills; kill += 1) await killOnce(instance);
    await clusters.cutOver(instance.client);
    peaks.push(peakOf(instance));
    expect(await copies.countDocuments()).toBe(operations + 1);
    expect(Math.max(...peaks)).toBeLessThan(residentBytesMax);
  },
);

/** Servers of tests have a small cache, which all of an open transaction has to fit into, and a minute for it. */
const roomy = [{ wiredTigerEngineRuntimeConfig: 'cache_size=2GB' }, { transactionLifetimeLimitSeconds: 600 }] as const;

async function insertInOneTransaction(source: MongoClient, rows: Collection<Row>): Promise<void> {
  if (isReal) for (const parameter of roomy) await source.db('admin').command({ setParameter: 1, ...parameter });
  await source.withSession((session) =>
    session.withTransaction(async () => {
      for (let first = 0; first < operations; first += perCommand) {
        const text = 'x'.repeat(40);
        const some = Array.from({ length: perCommand }, (_, n): Row => ({ _id: first + n, text }));
        await rows.insertMany(some, { session });
      }
    }),
  );
}

/** Makes each write to the rows of the destination slow, or no longer. */
async function slowDown(destination: MongoClient, mode: 'alwaysOn' | 'off'): Promise<void> {
  const failCommands = ['insert', 'update', 'delete'];
  const data = { failCommands, namespace: 'shop.rows', blockConnection: true, blockTimeMS: slower_ms };
  await destination
    .db('admin')
    .command({ configureFailPoint: 'failCommand', mode, ...(mode === 'alwaysOn' && { data }) });
}

/**
 * Kills the instance whenever more of the transaction is on the destination, but not all of it.
 * @returns the most memory that a process had, in bytes
 */
async function killsWithin(instance: InstanceProcess, copies: Collection<Row>): Promise<number> {
  let arrived = 1;
  let peak = 0;
  for (let kill = 0; kill < kills; kill += 1) {
    arrived = await untilMore(copies, arrived + betweenKills);
    peak = Math.max(peak, peakOf(instance));
    await killOnce(instance);
    expect(arrived).toBeLessThanOrEqual(operations);
  }
  return peak;
}

async function killOnce(instance: InstanceProcess): Promise<void> {
  await instance.kill();
  await instance.restart();
  await untilProgress(instance.client, 'it runs again', ({ state }) => state === 'RUNNING');
}

/** Waits until the destination has more rows. @returns their number */
async function untilMore(copies: Collection<Row>, than: number): Promise<number> {
  await expect.poll(() => copies.countDocuments(), { interval: 50 }).toBeGreaterThan(than);
  return copies.countDocuments();
}

/** The most memory that a process had at once, in bytes. */
function peakOf({ pid }: InstanceProcess): number {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes ?? NaN) * 1024;
}
