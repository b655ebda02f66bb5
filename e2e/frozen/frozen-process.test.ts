import { readFileSync } from 'node:fs';
import type { Collection, Document } from 'mongodb';
import { expect, test } from 'vitest';
import { HEALTH_PATH } from '@convoy/api/http/operations';
import { largeCollection, loadEverything, order, type Order } from '../data.js';
import { Clusters, defaultStart, untilCanCommit } from '../fleet.js';
import { CommandGate } from '../gate/command-gate.js';
import type { SentCommand } from '../gate/wire-messages.js';
import { needs } from '../requirements.js';
import { Workload } from '../workload.js';

/** Through the router, enough for the large collection to be divided between the instances. */
const ordersOf = { direct: 1_200, router: 18_000 };
/** Enough for every apply worker of an instance to have some. */
const touched = 600;
/** A write under a number of a session that a later owner has used. */
const transactionTooOld = 225;

const variants = [
  { sourceAccess: 'direct', when: 'while it is frozen', isThawedFirst: false },
  { sourceAccess: 'router', when: 'after it goes on', isThawedFirst: true },
] as const;

test.each(variants)(
  'a process is frozen in the middle of a write batch and replaced; its writes, which arrive $when, are refused: ' +
    'access $sourceAccess (servers from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async ({ sourceAccess, isThawedFirst }) => {
    await using clusters = await Clusters.start({ source: { shards: 2 }, destination: { shards: 2 } });
    const { source } = clusters.clients;
    const orders = ordersOf[sourceAccess];
    await loadEverything(source, clusters.source, orders);
    const [frozenId = ''] = clusters.source.shardIds;
    await using gate = await CommandGate.open(clusters.destination);
    await using nextGate = await CommandGate.open(clusters.destination);
    await using fleet = await clusters.startFleet(
      { sourceAccess },
      new Map([[frozenId, gate.way(clusters.destination)]]),
    );
    const { client } = fleet.coordinator;
    const [frozen] = fleet.instances;
    if (frozen === undefined) throw new Error('There is no instance.');
    await client.start(defaultStart);
    await untilCanCommit(client);

    const hold = gate.hold(writesDocuments);
    const collection = source.db(largeCollection.database).collection<Order>(largeCollection.name);
    await changeOnce(collection, orders);
    await expect.poll(() => hold.waiting.length).toBeGreaterThan(1);
    frozen.freeze();
    // The successor's first write is held up too: what is refused is refused because it has taken over, not because of
    // later writes.
    const nextHold = nextGate.hold(writesDocuments);
    const successor = await fleet.startSuccessor(frozenId, nextGate.way(clusters.destination));
    await expect.poll(() => nextHold.waiting.length).toBeGreaterThan(0);
    const late = hold.waiting;
    const arrive = async (): Promise<void> => {
      hold.release();
      await expect.poll(() => late.every(({ reply }) => reply !== undefined)).toBe(true);
    };
    const goOn = async (): Promise<void> => {
      frozen.thaw();
      await fetch(`${frozen.url}${HEALTH_PATH}`);
    };
    for (const step of isThawedFirst ? [goOn, arrive] : [arrive, goOn]) await step();
    await expect.poll(() => staleEpochs(frozen.logFile)).not.toEqual([]);
    expect(late.map(({ reply = {} }) => refusal(reply))).toEqual(
      late.map(() => ({ written: 0, codes: [transactionTooOld] })),
    );

    nextHold.release();
    await changeAgain(collection, orders);
    await using workload = Workload.start(source, orders);
    await expect.poll(() => workload.operations).toBeGreaterThan(200);
    await clusters.cutOver(client, workload);
    expect(staleEpochs(successor.logFile)).toEqual([]);
    await expect(frozen.client.progress()).rejects.toMatchObject({ error: 'staleEpoch' });
  },
);

/** The documents that are touched, all over the collection. */
function touchedOf(orders: number): number[] {
  return Array.from({ length: touched }, (_, index) => index * (orders / touched));
}

/** Deletes, changes and replaces documents. */
async function changeOnce(collection: Collection<Order>, orders: number): Promise<void> {
  await collection.bulkWrite(
    touchedOf(orders).map((_id, index) => {
      if (index % 4 === 0) return { deleteOne: { filter: { _id } } };
      if (index % 4 === 1)
        return { updateOne: { filter: { _id }, update: { $set: { tag: 'first' }, $unset: { version: '' } } } };
      return { replaceOne: { filter: { _id }, replacement: { ...order(_id), tag: 'first' } } };
    }),
  );
}

/** Any of the first changes after these would be visible. */
async function changeAgain(collection: Collection<Order>, orders: number): Promise<void> {
  await collection.bulkWrite(
    touchedOf(orders).map((_id, index) => {
      if (index % 3 === 0) return { deleteOne: { filter: { _id } } };
      return {
        replaceOne: { filter: { _id }, replacement: { ...order(_id), tag: 'second', version: 2 }, upsert: true },
      };
    }),
  );
}

/** A write to the collections of the test: writes of its own state pass. */
function writesDocuments({ name, database }: SentCommand): boolean {
  return ['insert', 'update', 'delete'].includes(name) && database === largeCollection.database;
}

/** What a late write has done: a router refuses its statements, a shard the whole of it. */
function refusal(reply: Document): { written: number; codes: number[] } {
  const { n = 0, code, writeErrors = [] } = reply as { n?: number; code?: number; writeErrors?: { code: number }[] };
  const codes = code === undefined ? writeErrors.map((error) => error.code) : [code];
  return { written: n, codes: [...new Set(codes)] };
}

/** The lines of a log of a process that was replaced. */
function staleEpochs(logFile: string): string[] {
  return readFileSync(logFile, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"error":"staleEpoch"'));
}
