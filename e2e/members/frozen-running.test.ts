import type { Progress } from '@convoy/api/contract/progress';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { expect, test } from 'vitest';
import { largeCollection } from '../data.js';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from '../fleet.js';
import { CommandGate } from '../gate/command-gate.js';
import { isFullRun, needs } from '../requirements.js';
import { membersNow, untilAnotherLeads } from './members.js';

const onSets = { version: [5, 0], real: true } as const;
/** So many are written while a member is away: by their hashes some are on each shard. */
const lateDocuments = 20;
/** An election, and the time that a router needs to find out. */
const electedWithin_ms = 120_000;
/** Documents of a kilobyte, whose copy takes about twenty seconds at `rateBytesPerSecond`. */
const orders = 4_000;
const rateBytesPerSecond = orders * 50;
/** A stream that stands still is opened anew after 20 s, a call without an answer is repeated after as long. */
const goesOnWithin_ms = 60_000;
/** Calls are named after 5 s, streams after 12 s; members are asked for every few seconds. */
const namedWithin_ms = 30_000;
const { database, name } = largeCollection;

const copying = { loadRateBytesPerSecond: rateBytesPerSecond, partition_seconds: 1 } as const;
type Moment = 'copy' | 'apply';
type Instance = Awaited<ReturnType<Clusters['startLoneInstanceHere']>>;

/** Brings a migration into the moment. */
async function reach(moment: Moment, { client }: Instance): Promise<void> {
  await client.start(defaultStart);
  if (moment === 'apply') await untilCanCommit(client);
  else
    await untilProgress(
      client,
      'a part is copied',
      ({ collectionCopy: copy }) => (copy?.estimatedCopiedBytes ?? 0) > 0,
    );
}

function waiting({ warnings }: Progress): string {
  return warnings?.find((one) => one.name === 'waitingForAnswer')?.description ?? '';
}

/** Inserts documents on all shards of the source, as soon as each has a primary that takes them. */
async function insertLate(clusters: Clusters): Promise<void> {
  const late = clusters.clients.source.db(database).collection<{ _id: number; late: boolean }>(name);
  const options = { upsert: true, writeConcern: { w: 'majority', wtimeoutMS: 10_000 }, maxTimeMS: 10_000 } as const;
  for (let _id = 900_000; _id < 900_000 + lateDocuments; _id += 1)
    await pollUntil(`a late document ${_id} is inserted`, electedWithin_ms, () =>
      late.updateOne({ _id }, { $set: { late: true } }, options).then(
        () => true,
        () => false,
      ),
    );
}

/** Waits until the late documents are on the destination: the migration goes on. */
function untilLateArrive(clusters: Clusters): Promise<unknown> {
  const late = clusters.clients.destination.db(database).collection(name);
  return pollUntil(
    'late documents arrive',
    goesOnWithin_ms,
    async () => (await late.countDocuments({ late: true })) >= lateDocuments,
  );
}

test.each(['copy', 'apply'] as const)(
  'the %s goes on through the new primary while that of a shard of the source is frozen, and names it',
  needs(onSets),
  async (moment) => {
    await using clusters = await Clusters.loaded(
      { source: { shards: 2 }, destination: 'replicaSet', members: 3 },
      orders,
    );
    await using instance = await clusters.startLoneInstanceHere({
      sourceAccess: 'router',
      ...(moment === 'copy' && copying),
    });
    await reach(moment, instance);
    const { source } = clusters;
    const shard = source.shardIds[1] ?? '';
    const { primary } = await membersNow(source, shard);
    source.signal?.(primary, 'SIGSTOP');
    try {
      const isNamed = (progress: Progress): boolean => waiting(progress).includes(`${primary} of`);
      const named = untilProgress(instance.client, 'the member is named', isNamed, namedWithin_ms);
      named.catch(() => undefined);
      await untilAnotherLeads(source, shard, primary);
      await insertLate(clusters);
      await untilLateArrive(clusters);
      expect(waiting(await named)).toContain('cluster0 router');
      await untilCanCommit(instance.client, goesOnWithin_ms);
    } finally {
      source.signal?.(primary, 'SIGCONT');
    }
    await clusters.commit(instance.client);
  },
);

/** An only member is frozen for so long: no other one leads meanwhile. */
const frozen_ms = 40_000;

test.each(isFullRun ? (['copy', 'apply'] as const) : (['apply'] as const))(
  'the %s goes on within a minute after the only member of a shard of the source is back, which was named',
  needs(onSets),
  async (moment) => {
    await using clusters = await Clusters.loaded({ source: { shards: 2 }, destination: 'replicaSet' }, orders);
    await using instance = await clusters.startLoneInstanceHere({
      sourceAccess: 'router',
      ...(moment === 'copy' && copying),
    });
    await reach(moment, instance);
    const { source } = clusters;
    const [member = ''] = source.members.get(source.shardIds[1] ?? '') ?? [];
    const frozenAt_ms = performance.now();
    source.signal?.(member, 'SIGSTOP');
    try {
      const isNamed = (progress: Progress): boolean => waiting(progress).includes(`${member} of`);
      await untilProgress(instance.client, 'the member is named', isNamed, namedWithin_ms);
      await pollUntil('the member was frozen for long', 2 * frozen_ms, () =>
        Promise.resolve(performance.now() - frozenAt_ms > frozen_ms),
      );
    } finally {
      source.signal?.(member, 'SIGCONT');
    }
    await insertLate(clusters);
    await untilLateArrive(clusters);
    await untilProgress(instance.client, 'nothing is named any more', (one) => waiting(one) === '', goesOnWithin_ms);
    await clusters.cutOver(instance.client);
  },
);

test.each(['copy', 'apply'] as const)(
  'the %s goes on although a firewall has cut all connections to the source without a word, and names it',
  needs(onSets),
  async (moment) => {
    await using clusters = await Clusters.loaded({ source: { shards: 2 }, destination: 'replicaSet' }, orders);
    await using gate = await CommandGate.open(clusters.source);
    await using instance = await clusters.startLoneInstanceHere(
      { sourceAccess: 'router', ...(moment === 'copy' && copying) },
      gate.way(clusters.source),
    );
    await reach(moment, instance);
    expect(gate.cut()).toBeGreaterThan(0);
    const isNamed = (progress: Progress): boolean => waiting(progress).includes('cluster0 router');
    const named = untilProgress(instance.client, 'the router is named', isNamed, namedWithin_ms);
    named.catch(() => undefined);
    await insertLate(clusters);
    await untilLateArrive(clusters);
    await named;
    await clusters.cutOver(instance.client);
  },
);
