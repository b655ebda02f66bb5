import { expect, test } from 'vitest';
import type { ContractClient } from '@convoy/api/client/contract-client';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilProgress, untilTaken } from '../fleet.js';
import { needs } from '../requirements.js';
import { convoy, newFolder, resultIn, verifyOf } from '../verify-command.js';
import { HeldShard, loadOrders, orders, statesOf, untilNamed } from './held-builds.js';

const shapes = [
  { shape: 'replicaSet', access: 'direct' },
  { shape: { shards: 2 }, access: 'direct' },
  { shape: { shards: 2 }, access: 'router' },
] as const;
const sides = ['source', 'destination'] as const;
const cases = shapes.flatMap((one) => sides.map((side) => ({ ...one, side })));
/** Looks at progress that last longer than a commit without a wait. */
const looksMin = 25;

/** One instance, or a fleet with its coordinator between sharded clusters. */
async function startProcesses(
  clusters: Clusters,
  sourceAccess: string,
): Promise<{ client: ContractClient } & AsyncDisposable> {
  if (clusters.source.kind === 'replicaSet') return clusters.startLoneInstanceHere({ catalogInterval_seconds: 1 });
  const fleet = await clusters.startFleetHere({ catalogInterval_seconds: 1, sourceAccess });
  return { client: fleet.coordinator.client, [Symbol.asyncDispose]: () => fleet[Symbol.asyncDispose]() };
}

/** A user's transaction that has written and is still open: a commit waits for it. */
async function openTransaction({ clients }: Clusters): Promise<() => Promise<void>> {
  const session = clients.source.startSession();
  session.startTransaction();
  await clients.source.db('shop').collection('notes').insertOne({ text: 'late' }, { session });
  return async () => {
    await session.commitTransaction();
    await session.endSession();
  };
}

/** `convoy verify` does not count the build of either side as an index. */
async function expectVerified(clusters: Clusters, side: (typeof sides)[number]): Promise<void> {
  const { code, stdout } = await convoy(newFolder(), ...verifyOf(clusters, 0), '--json');
  const differences = [{ kind: 'index', namespace: 'shop.orders', detail: 'a_1 is being built' }];
  expect({ code, result: resultIn(stdout) }).toMatchObject(
    side === 'source' ? { code: 0, result: { differences: [] } } : { code: 1, result: { differences } },
  );
}

test.each(cases)(
  'an index that one shard is still building is none for progress, the offer, the commit and verification: ' +
    '$shape, $side, $access (servers from 5.0)',
  needs({ version: [5, 0] }),
  async ({ shape, access, side }) => {
    await using clusters = await Clusters.start({ source: shape, destination: shape });
    const { source } = clusters.clients;
    await loadOrders(clusters.clients, clusters.source);
    await using processes = await startProcesses(clusters, access);
    const { client } = processes;
    await using held = await HeldShard.of(clusters[side]);
    await client.start(defaultStart);
    await untilCanCommit(client);

    await held.hold('alwaysOn');
    const built = orders(source).createIndex({ a: 1 }, {}, {});
    built.catch(() => undefined);
    await held.untilBuilding('a_1');
    const named = new RegExp(String.raw`The ${side} is still building a_1 of shop\.orders\.`);
    expect(await untilNamed(client, named)).toMatchObject({ canCommit: false });
    const blocked = await untilProgress(client, 'blockers', ({ commitBlockers }) => (commitBlockers ?? []).length > 0);
    expect(blocked.commitBlockers?.map(({ reason }) => reason)).toContain('buildingIndexes');
    await expect(client.commit()).rejects.toMatchObject({
      error: 'cannotCommit',
      message: expect.stringContaining('indexes are being built') as unknown,
    });
    await expectVerified(clusters, side);
    await held.hold('off');
    await built;
    await untilCanCommit(client);
    expect([...new Set(await statesOf(clusters, 'a_1'))]).toEqual(['finished']);

    await commitBesideBuild(clusters, client, held, new RegExp(named.source.replace('a_1', 'b_1')));
    expect([...new Set(await statesOf(clusters, 'b_1'))]).toEqual(['finished']);
    await clusters.expectEqual();
  },
);

/** Begins a build once the commit has begun, which then waits for it, and names it. */
async function commitBesideBuild(
  clusters: Clusters,
  client: ContractClient,
  held: HeldShard,
  named: RegExp,
): Promise<void> {
  const endTransaction = await openTransaction(clusters);
  await untilTaken(() => client.commit());
  await untilProgress(client, 'COMMITTING', ({ state }) => state === 'COMMITTING');
  await held.hold('alwaysOn');
  const built = orders(clusters.clients.source).createIndex({ b: 1 }, {}, {});
  built.catch(() => undefined);
  await held.untilBuilding('b_1');
  await endTransaction();
  await untilNamed(client, named);
  let looks = 0;
  const later = await untilProgress(client, 'the commit ends, or waits on', ({ state }) => {
    looks += 1;
    return state !== 'COMMITTING' || looks > looksMin;
  });
  expect(later).toMatchObject({ state: 'COMMITTING', canWrite: false });
  await held.hold('off');
  await built;
  await untilCommitted(client);
}
