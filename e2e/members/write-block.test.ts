import { pollUntil } from '@convoy/testbed/process/poll-until';
import type { Progress } from '@convoy/api/contract/progress';
import type { Document } from 'mongodb';
import { expect, test } from 'vitest';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilProgress, untilTaken } from '../fleet.js';
import { guarded, needs } from '../requirements.js';
import { Random } from '@convoy/cli/demo/random';
import { testSeed } from '../../test/seed.js';
import { AcknowledgedWrites } from './acknowledged-writes.js';
import { electOnlyWhenGone, holdReplication, membersNow, onMember, setsOfThree, untilAnotherLeads } from './members.js';

const onSets = { version: [6, 0], real: true } as const;
const blocking = { ...defaultStart, enableUserWriteBlocking: true } as const;
/** The state of a member that refuses the writes of users. */
const blocked = 2;
const storedWithin_ms = 60_000;
/** A commit of little data takes about as long. */
const commit_ms = 2_000;

/** Waits until a member refuses the writes of users, whoever else does. */
function untilBlocked(host: string): Promise<unknown> {
  return pollUntil(`${host} has the block`, storedWithin_ms, async () => {
    const { repl } = await onMember(host, { serverStatus: 1 }, true);
    return (repl as Document)['userWriteBlockMode'] === blocked;
  });
}

/** Clusters whose source elects another primary only when the present one is gone. */
async function littleOnSets(): Promise<Clusters> {
  const clusters = await Clusters.little({ ...setsOfThree, ...guarded });
  await electOnlyWhenGone(clusters.clients.source);
  return clusters;
}

/** The command waits for a majority, and the primary has the block at once. */
function beginBlock(primary: string): Promise<unknown> {
  return onMember(primary, { setUserWriteBlockMode: 1, global: true }, true).catch(() => undefined);
}

test(
  'a block that the primary alone has does not count: the one that follows gets it, and no acknowledged write is lost',
  needs(onSets),
  async () => {
    await using clusters = await littleOnSets();
    const { source } = clusters;
    await using instance = await clusters.startLoneInstance();
    await instance.client.start(blocking);
    await using writes = AcknowledgedWrites.start(clusters.shoppers.source);
    await writes.untilMore();
    await untilCanCommit(instance.client);

    const { primary, others } = await membersNow(source, 'rs0');
    await holdReplication(others, 'alwaysOn', true);
    try {
      await untilTaken(() => instance.client.commit());
      // As a process sets it that ends then.
      const block = beginBlock(primary);
      await untilBlocked(primary);
      // Who comes next finds the block where it is.
      await instance.kill();
      await instance.restart();
      await untilProgress(instance.client, 'the commit goes on', ({ state }) => state === 'COMMITTING');
      source.signal?.(primary, 'SIGKILL');
      await block;
    } finally {
      // Nothing that waits for a majority ends before.
      await holdReplication(others, 'off', true);
    }
    await untilAnotherLeads(source, 'rs0', primary);

    await untilCommitted(instance.client);
    await writes.stop();
    expect(await writes.lostOn(clusters.clients.destination)).toEqual([]);
    expect((await clusters.compare()).differences).toEqual([]);
  },
);

/** Every write to the record of the migration takes so long: what happens between two of them has time to. */
const held_ms = 3_000;
/** Who takes the word of the primary for a block finds it by then. */
const found_ms = 10_000;
/** Of a commit whose every write to its record is held. */
const openingWithin_ms = 120_000;

/** Holds every write to the record of the migration, or lets them pass at once again. */
async function holdRecord(clusters: Clusters, mode: 'alwaysOn' | 'off'): Promise<void> {
  const data = {
    failCommands: ['update', 'findAndModify'],
    namespace: 'convoy_metadata.migration',
    blockConnection: true,
    blockTimeMS: held_ms,
  };
  const failPoint = mode === 'off' ? { mode } : { mode, data };
  await clusters.clients.destination.db('admin').command({ configureFailPoint: 'failCommand', ...failPoint });
}

/** Whether the destination holds the write that decides to open it. */
async function isOpening(clusters: Clusters): Promise<boolean> {
  const admin = clusters.clients.destination.db('admin');
  const operations = await admin.aggregate([{ $currentOp: { allUsers: true } }]).toArray();
  return operations.some(({ command }) => {
    const text = JSON.stringify(command ?? null);
    return text.includes('"migration"') && text.includes('"phase":"opening"');
  });
}

test(
  'writes after the last look at a block that the primary alone had, while the opening is held, are refused or kept',
  needs(onSets),
  async () => {
    await using clusters = await littleOnSets();
    const { source } = clusters;
    await using instance = await clusters.startLoneInstance();
    const { client } = instance;
    await clusters.shoppers.source.db('shop').createCollection('acknowledged');
    await client.start(blocking);
    await untilCanCommit(client);

    const { primary, others } = await membersNow(source, 'rs0');
    await untilTaken(() => client.commit());
    await instance.kill();
    await holdReplication(others, 'alwaysOn', true);
    const block = beginBlock(primary);
    try {
      await untilBlocked(primary);
      await instance.restart();
      await untilProgress(client, 'the commit goes on', ({ state }) => state === 'COMMITTING');
      // Who takes the word of the primary finds the block standing, and goes on.
      const isPast = (progress: Progress): boolean => progress.currentStep?.name === 'applyLastChanges';
      await untilProgress(client, 'the writers count as stopped', isPast, found_ms).catch(() => undefined);
      await holdRecord(clusters, 'alwaysOn');
      source.signal?.(primary, 'SIGKILL');
      await block;
    } finally {
      await holdReplication(others, 'off', true);
    }
    await untilAnotherLeads(source, 'rs0', primary);

    await pollUntil('the opening is held', openingWithin_ms, () => isOpening(clusters));
    await using writes = AcknowledgedWrites.start(clusters.shoppers.source);
    await untilProgress(client, 'the destination is opened', ({ canWrite }) => canWrite === true);
    await holdRecord(clusters, 'off');
    await untilCommitted(client);
    await writes.stop();
    expect(writes.tried).toBeGreaterThan(0);
    expect(await writes.lostOn(clusters.clients.destination)).toEqual([]);
    expect((await clusters.compare()).differences).toEqual([]);
  },
);

test.each(['source', 'destination'] as const)(
  `a commit with writers and a block loses nothing when the primary of the %s is killed within it (seed ${testSeed})`,
  needs(onSets),
  async (side) => {
    await using clusters = await Clusters.little({ ...setsOfThree, ...guarded });
    await using instance = await clusters.startLoneInstanceHere();
    const { client } = instance;
    await client.start(blocking);
    await using writes = AcknowledgedWrites.start(clusters.shoppers.source);
    await writes.untilMore();
    await untilCanCommit(client);

    const cluster = clusters[side];
    const { primary } = await membersNow(cluster, 'rs0');
    const moment_ms = new Random(testSeed).below(commit_ms);
    await untilTaken(() => client.commit());
    setTimeout(() => cluster.signal?.(primary, 'SIGKILL'), moment_ms);
    await untilAnotherLeads(cluster, 'rs0', primary);
    await untilCommitted(client);
    await writes.stop();
    expect(await writes.lostOn(clusters.clients.destination)).toEqual([]);
    expect((await clusters.compare()).differences).toEqual([]);
  },
);

test(
  `a commit with writers and a block loses nothing when primaries of a shard and of the config server are killed ` +
    `within it (seed ${testSeed})`,
  needs(onSets),
  async () => {
    await using clusters = await Clusters.little({
      source: { shards: 2 },
      destination: 'replicaSet',
      members: 3,
      configMembers: 3,
      ...guarded,
    });
    const { source, shoppers } = clusters;
    const admin = clusters.clients.source.db('admin');
    await admin.command({ enableSharding: 'shop' });
    await admin.command({ shardCollection: 'shop.acknowledged', key: { _id: 'hashed' } });
    await using instance = await clusters.startLoneInstanceHere({ sourceAccess: 'router' });
    const { client } = instance;
    await client.start(blocking);
    await using writes = AcknowledgedWrites.start(shoppers.source);
    await writes.untilMore();
    await untilCanCommit(client);

    const random = new Random(testSeed);
    const { primary } = await membersNow(source, source.shardIds[random.below(source.shardIds.length)] ?? '');
    const [config = ''] = source.configHosts ?? [];
    const moments_ms = [random.below(commit_ms), random.below(commit_ms)];
    await untilTaken(() => client.commit());
    setTimeout(() => source.signal?.(primary, 'SIGKILL'), moments_ms[0]);
    setTimeout(() => source.signal?.(config, 'SIGKILL'), moments_ms[1]);
    await untilCommitted(client);
    await writes.stop();
    expect(await writes.lostOn(clusters.clients.destination)).toEqual([]);
    expect((await clusters.compare()).differences).toEqual([]);
  },
);
