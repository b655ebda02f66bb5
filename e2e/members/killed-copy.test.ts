import { setTimeout as delay } from 'node:timers/promises';
import type { Collection } from 'mongodb';
import { expect, onTestFinished, test } from 'vitest';
import { Random } from '@convoy/cli/demo/random';
import { testSeed } from '../../test/seed.js';
import { largeCollection, order, type Order } from '../data.js';
import { Clusters, defaultStart, untilProgress } from '../fleet.js';
import { isFullRun, needs } from '../requirements.js';
import { AcknowledgedWrites } from './acknowledged-writes.js';
import { membersNow, setsOfThree, untilAnotherLeads } from './members.js';

const onSets = { version: [5, 0], real: true } as const;
const orders = isFullRun ? 12_000 : 4_000;
/** A copy takes about ten seconds at this rate, as an order has about a kilobyte. */
const rateBytesPerSecond = orders * 100;
const kills = isFullRun ? 3 : 2;
/** Each kill comes so long after the copy went on, at most. */
const momentMax_ms = 1_500;
const pause_ms = 10;

/** Changes of what is copied, also while no member leads: whoever is refused then goes on with something else. */
async function write(all: Collection<Order>, random: Random, signal: AbortSignal): Promise<number> {
  let done = 0;
  for (let turn = 0; !signal.aborted; turn += 1) {
    const _id = random.below(orders);
    const change = [
      () => all.deleteOne({ _id }),
      () => all.replaceOne({ _id }, { ...order(_id), replaced: turn }, { upsert: true }),
      () => all.updateOne({ _id }, { $inc: { version: 1 }, $unset: { padding: '' } }),
      () => all.updateOne({ _id }, [{ $set: { tag: String(turn) } }]),
    ][turn % 4];
    await change?.().then(
      () => (done += 1),
      () => undefined,
    );
    await delay(pause_ms);
  }
  return done;
}

test.each(['source', 'destination'] as const)(
  `an instance is killed in the copy again and again, and a primary of the %s with it (seed ${testSeed})`,
  needs(onSets),
  async (side) => {
    const random = new Random(testSeed);
    await using clusters = await Clusters.loaded(setsOfThree, orders);
    await using instance = await clusters.startLoneInstance({
      partition_seconds: 1,
      checkpoint_ms: random.pick([100, 1_000]),
      loadRateBytesPerSecond: rateBytesPerSecond,
    });
    const { client } = instance;
    await using writes = AcknowledgedWrites.start(clusters.clients.source);
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    const written = write(
      clusters.clients.source.db(largeCollection.database).collection<Order>(largeCollection.name),
      new Random(testSeed),
      stopping.signal,
    );
    await client.start(defaultStart);
    let copied = 0;
    for (let kill = 0; kill < kills; kill += 1) {
      const { collectionCopy: copy } = await untilProgress(
        client,
        'the copy goes on',
        ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > copied,
      );
      expect(copy?.estimatedCopiedBytes).toBeLessThan(copy?.estimatedTotalBytes ?? 0);
      copied = copy?.estimatedCopiedBytes ?? 0;
      await delay(random.below(momentMax_ms));
      await instance.kill();
      // Of three members one may go for good.
      if (kill === 0) {
        const { primary } = await membersNow(clusters[side], 'rs0');
        clusters[side].signal?.(primary, 'SIGKILL');
        await untilAnotherLeads(clusters[side], 'rs0', primary);
      }
      await instance.restart();
    }
    await clusters.cutOver(client, {
      stop: async () => {
        stopping.abort();
        expect(await written).toBeGreaterThan(100);
        await writes.stop();
      },
    });
    expect(writes.acknowledged).toBeGreaterThan(0);
    expect(await writes.lostOn(clusters.clients.destination)).toEqual([]);
  },
);
