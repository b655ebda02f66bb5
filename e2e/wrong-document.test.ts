import { expect, test } from 'vitest';
import { largeCollection, type Order } from './data.js';
import { FleetUnderLoad } from './fleet-under-load.js';
import { defaultStart, untilCanCommit } from './fleet.js';
import { needs } from './requirements.js';

/** All instances show a failure within this time on a machine under load. */
const within_ms = 60_000;
const { database, name } = largeCollection;

async function mismatchesOf(url: string, query = ''): Promise<unknown[]> {
  const lines = await (await fetch(`${url}/api/v1/verification/mismatches${query}`)).text();
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

test(
  'a commit with one wrong document fails the migration: each instance and the fleet name it, and nothing is opened ' +
    '(servers from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    await using underLoad = await FleetUnderLoad.startHere({ orders: 500 });
    const { clusters, fleet, workload, client } = underLoad;
    await client.start(defaultStart);
    await untilCanCommit(client);
    await workload.stop();
    const wrong = -1;
    await clusters.clients.destination.db(database).collection<Order>(name).insertOne({ _id: wrong });
    await client.commit();

    const processes = [...fleet.instances, fleet.coordinator];
    for (const process of processes) {
      const failure = () =>
        process.client.progress().then(
          () => '',
          (error: unknown) => (error as { error: string }).error,
        );
      await expect.poll(failure, { timeout: within_ms }).toBe('verificationFailed');
      const found = [
        expect.objectContaining({
          namespace: `${database}.${name}`,
          kind: 'extraOnDestination',
          _id: { $numberInt: String(wrong) },
          proven: true,
        }) as unknown,
      ];
      await expect.poll(() => mismatchesOf(process.url), { timeout: within_ms }).toEqual(found);
      expect(await mismatchesOf(process.url, '?kind=extraOnDestination&limit=5')).toEqual(found);
      expect(await mismatchesOf(process.url, '?kind=different')).toEqual([]);
      expect((await fetch(`${process.url}/api/v1/verification/mismatches?kind=wrong`)).status).toBe(400);
    }
    const record = await clusters.clients.destination.db('convoy_metadata').collection('migration').findOne();
    expect(record).toMatchObject({ phase: 'committing', canWrite: false });
  },
);
