import { type Document, MongoClient } from 'mongodb';
import { expect, onTestFinished } from 'vitest';
import type { Side } from '../contract/fixture.js';

/** Real servers check for the first time a minute after their start. */
export const patience = { timeout: 120_000, interval: 100 };

/** The shards of a cluster, or the member of a replica set, asked directly until the test ends. */
export async function shardsOf(side: Side): Promise<MongoClient[]> {
  const { client } = side;
  const opened = (await side.shards()).map(({ url }) => new MongoClient(url, loginOf(client)));
  if (opened.length === 0) return [client];
  onTestFinished(async () => {
    for (const shard of opened) await shard.close();
  });
  return opened;
}

/** The same user as of another client. */
function loginOf({ options: { credentials } }: MongoClient): { auth?: { username: string; password: string } } {
  const { username, password } = credentials ?? {};
  return username === undefined ? {} : { auth: { username, password: password ?? '' } };
}

/** The servers check for expired documents every second. */
export async function expireOften(side: Side): Promise<void> {
  await setEverywhere(side, { ttlMonitorSleepSecs: 1 });
}

/** Sets a parameter of every server that has data. */
export async function setEverywhere(side: Side, parameter: Document): Promise<void> {
  for (const shard of await shardsOf(side)) await shard.db('admin').command({ setParameter: 1, ...parameter });
}

/** Waits until every shard has checked for expired documents, by a document of its own. */
export async function untilLooked(side: Side): Promise<void> {
  for (const shard of await shardsOf(side)) {
    const marks = shard.db('config').collection<{ at: Date }>('marks');
    await marks.createIndexes([{ key: { at: 1 }, expireAfterSeconds: 0 }]);
    await marks.insertOne({ at: new Date(1_000_000_000_000) });
    await expect.poll(() => marks.countDocuments(), patience).toBe(0);
    await marks.drop();
  }
}
