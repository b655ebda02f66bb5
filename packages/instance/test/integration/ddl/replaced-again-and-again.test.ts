import { setTimeout as delay } from 'node:timers/promises';
import type { MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

/** As jobs that make reports anew do, but more often. */
const pause_ms = 150;
const roundsMin = process.env['CONVOY_TEST_FULL'] === '1' ? 40 : 6;
const documents = 300;

/** A job that replaces a collection again and again until it is stopped. */
class Job implements AsyncDisposable {
  rounds = 0;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(client: MongoClient, name: string, isUnique: boolean) {
    this.#running = this.#run(client, name, isUnique);
    this.#running.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running.catch(() => undefined);
  }

  async #run(client: MongoClient, name: string, isUnique: boolean): Promise<void> {
    const shop = client.db('shop');
    for (; !this.#stopping.signal.aborted; this.rounds += 1) {
      const round = { $add: ['$n', this.rounds] };
      await shop
        .collection('orders')
        .aggregate([{ $project: { n: 1, round } }, { $out: name }])
        .toArray();
      if (isUnique) await shop.collection(name).createIndex({ n: 1 }, { unique: true, name: 'n_1' });
      await delay(pause_ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
    }
  }
}

it('collections that jobs replace again and again are named while they keep a commit away, and arrive', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  const { client } = fixture.cluster0;
  await client
    .db('shop')
    .collection<{ _id: number; n: number }>('orders')
    .insertMany(Array.from({ length: documents }, (_, _id) => ({ _id, n: _id })));
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await using plain = new Job(client, 'report', false);
  await using unique = new Job(client, 'ranking', true);
  const blockers = new Set<string>();
  await instance.until('the jobs have replaced their collections often, beside offers of a commit', (progress) => {
    for (const { reason, description } of progress.commitBlockers ?? []) blockers.add(`${reason}: ${description}`);
    return plain.rounds > roundsMin && unique.rounds > roundsMin;
  });
  await plain.stop();
  await unique.stop();
  // Whoever is told that something is copied is told what.
  const copying = [...blockers].filter((text) => text.startsWith('copying: '));
  expect(copying.filter((text) => !/shop\.(report|ranking)/.test(text))).toEqual([]);
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
});
