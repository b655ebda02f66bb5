import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '@convoy/cli/demo/random';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { type Collection, type Document, MongoClient, Timestamp } from 'mongodb';
import { expect, test } from 'vitest';
import { testSeed } from '../../test/seed.js';
import { largeCollection, order, type Order } from '../data.js';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilProgress, untilTaken } from '../fleet.js';
import { needs } from '../requirements.js';
import { AcknowledgedWrites } from './acknowledged-writes.js';
import { electOnlyWhenGone, holdReplication, membersNow, setsOfThree, untilAnotherLeads } from './members.js';

interface Row {
  _id: number;
  state: string;
}

const onSets = { version: [5, 0], real: true } as const;
const rolledBackWithin_ms = 120_000;
/** Documents that a majority has before the tail: some of them are changed and deleted in it. */
const kept = 400;
/** Documents that the tail inserts. */
const lost = 300;
/** Documents of a kilobyte, whose copy takes about ten seconds at `rateBytesPerSecond`. */
const orders = 4_000;
const rateBytesPerSecond = orders * 100;

function rowsOf(client: MongoClient): Collection<Row> {
  return client.db('shop').collection<Row>('rows');
}

function numbered(first: number, count: number, state: string): Row[] {
  return Array.from({ length: count }, (_, n) => ({ _id: first + n, state }));
}

/** Writes of all kinds that the primary alone acknowledges, while no other member gets them. */
async function writeTail(rows: Collection<Row>): Promise<void> {
  const options = { writeConcern: { w: 1 } } as const;
  await rows.insertMany(numbered(kept, lost, 'lost'), options);
  await rows.updateMany({ _id: { $lt: 100 } }, { $set: { state: 'lost' } }, options);
  await rows.deleteMany({ _id: { $gte: 100, $lt: 200 } }, options);
  await rows.updateMany({ _id: { $gte: 200, $lt: 300 } }, [{ $set: { tail: true } }], options);
}

/** A client of one member, whether it leads or not. */
function clientOf(host: string): MongoClient {
  return new MongoClient(`mongodb://${host}/?directConnection=true&readPreference=secondaryPreferred`);
}

/**
 * Freezes the primary until another member leads, so that the former one rolls back what no other member has.
 * @param isRolledBack of the former primary
 */
async function failOver(
  cluster: TestCluster,
  primary: string,
  others: readonly string[],
  isRolledBack: (former: MongoClient) => Promise<boolean>,
): Promise<void> {
  cluster.signal?.(primary, 'SIGSTOP');
  try {
    await holdReplication(others, 'off');
    await untilAnotherLeads(cluster, 'rs0', primary);
  } finally {
    cluster.signal?.(primary, 'SIGCONT');
  }
  await using former = clientOf(primary);
  await pollUntil('the former primary has rolled its writes back', rolledBackWithin_ms, () =>
    isRolledBack(former).catch(() => false),
  );
}

/** Whether a member has nothing of the tail, and all that was there before. */
async function hasNoTail(member: MongoClient): Promise<boolean> {
  const rows = rowsOf(member);
  const counts = [rows.countDocuments({ state: 'lost' }), rows.countDocuments({ state: 'kept' })];
  return (await Promise.all(counts)).join() === `0,${kept}`;
}

test.each(['start', 'copy', 'apply', 'commit'] as const)(
  'writes that the source rolls back are not on the destination: they stood at the %s of a migration',
  needs(onSets),
  async (moment) => {
    await using clusters = await Clusters.loaded(setsOfThree, moment === 'copy' ? orders : 100);
    const { source } = clusters;
    const client = clusters.clients.source;
    await electOnlyWhenGone(client);
    const rows = rowsOf(client);
    await rows.insertMany(numbered(0, kept, 'kept'), { writeConcern: { w: 'majority' } });
    await using instance = await clusters.startLoneInstanceHere({
      catalogInterval_seconds: 1,
      ...(moment === 'copy' && { loadRateBytesPerSecond: rateBytesPerSecond, partition_seconds: 1 }),
    });
    const start = () => untilTaken(() => instance.client.start(defaultStart));
    if (moment !== 'start') await start();
    if (moment === 'copy') await untilCopying(instance);
    else if (moment !== 'start') await untilCanCommit(instance.client);

    const { primary, others } = await membersNow(source, 'rs0');
    await holdReplication(others, 'alwaysOn');
    await writeTail(rows);
    expect(await rows.countDocuments({ state: 'lost' })).toBe(lost + 100);
    const started = moment === 'start' ? start() : Promise.resolve();
    started.catch(() => undefined);
    if (moment === 'commit') {
      await instance.client.commit();
      await untilProgress(instance.client, 'COMMITTING', ({ state }) => state === 'COMMITTING');
    }
    await failOver(source, primary, others, hasNoTail);
    await started;

    // In a commit nobody writes.
    const later = moment === 'commit' ? 0 : 100;
    if (later > 0) await rows.insertMany(numbered(10_000, later, 'later'), { writeConcern: { w: 'majority' } });
    if (moment !== 'commit') {
      await untilCanCommit(instance.client);
      await instance.client.commit();
    }
    await untilCommitted(instance.client);
    const copies = rowsOf(clusters.clients.destination);
    expect(await copies.countDocuments({ $or: [{ state: 'lost' }, { tail: true }] })).toBe(0);
    expect(await copies.countDocuments()).toBe(kept + later);
    await clusters.expectEqual();
  },
);

type Instance = Awaited<ReturnType<Clusters['startLoneInstanceHere']>>;

async function untilCopying({ client }: Instance): Promise<void> {
  const { collectionCopy: copy } = await untilProgress(
    client,
    'a part is copied',
    ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 0,
  );
  expect(copy?.estimatedCopiedBytes).toBeLessThan(copy?.estimatedTotalBytes ?? 0);
}

/** The time of a member's last write to collections that somebody writes to, alone or in a transaction. */
async function lastWriteOf(member: MongoClient): Promise<Timestamp> {
  const { database, name } = largeCollection;
  const ns = { $in: ['shop.acknowledged', `${database}.${name}`] };
  const entry = await member
    .db('local')
    .collection<{ ts: Timestamp }>('oplog.rs')
    .findOne({ $or: [{ ns }, { 'o.applyOps.ns': ns }] }, { sort: { $natural: -1 } });
  return entry?.ts ?? new Timestamp({ t: 0, i: 0 });
}

/** The last entry of a member's oplog: its time and its term, which no other entry has. */
async function lastEntryOf(member: MongoClient): Promise<Document> {
  const oplog = member.db('local').collection('oplog.rs');
  const entry = await oplog.findOne({}, { sort: { $natural: -1 } });
  return { ts: entry?.['ts'] as unknown, t: entry?.['t'] as unknown };
}

/** So many documents change at once, so that transactions write them. */
const burst = 12_000;
const burstFrom = 500_000;
/** Changes all documents of the burst, and removes the second half of them. */
async function changeBurst(many: Collection<Order>): Promise<void> {
  await many.updateMany({ _id: { $gte: burstFrom } }, { $inc: { version: 1 } }, { writeConcern: { w: 'majority' } });
  await many.deleteMany({ _id: { $gte: burstFrom + burst / 2 } }, { writeConcern: { w: 'majority' } });
}

/** A commit of little data takes about as long. */
const commit_ms = 2_000;

test.each(['copy', 'apply', 'commit'] as const)(
  `what the destination rolls back in the %s is written again, and no acknowledged write is lost (seed ${testSeed})`,
  needs(onSets),
  async (moment) => {
    await using clusters = await Clusters.loaded(setsOfThree, moment === 'copy' ? orders : 100);
    const { destination } = clusters;
    await electOnlyWhenGone(clusters.clients.destination);
    await using instance = await clusters.startLoneInstanceHere({
      ...(moment === 'copy' && { loadRateBytesPerSecond: rateBytesPerSecond, partition_seconds: 1 }),
    });
    const { client } = instance;
    await using writes = AcknowledgedWrites.start(clusters.clients.source);
    await writes.untilMore();
    await client.start(defaultStart);
    if (moment === 'copy') await untilCopying(instance);
    else await untilCanCommit(client);

    const { primary, others } = await membersNow(destination, 'rs0');
    await using leading = clientOf(primary);
    const many = clusters.clients.source.db(largeCollection.database).collection<Order>(largeCollection.name);
    if (moment === 'apply') {
      const some = Array.from({ length: burst }, (_, n) => order(burstFrom + n));
      await many.insertMany(some, { writeConcern: { w: 'majority' } });
      const there = leading.db(largeCollection.database).collection<Order>(largeCollection.name);
      await pollUntil('the documents are there', rolledBackWithin_ms, async () => {
        return (await there.countDocuments({ _id: { $gte: burstFrom } })) === burst;
      });
    }
    if (moment === 'commit') {
      await writes.stop();
      await client.commit();
      await delay(new Random(testSeed).below(commit_ms));
    }
    // Applying may go as far as its task's record says, which needs a majority: it is held in the middle of the burst.
    const changed = moment === 'apply' ? changeBurst(many) : null;
    if (moment === 'apply')
      await pollUntil('some changes are there', rolledBackWithin_ms, async () => {
        const there = leading.db(largeCollection.database).collection<Order>(largeCollection.name);
        return (await there.findOne({ _id: { $gte: burstFrom }, version: { $gt: 0 } })) !== null;
      });
    await holdReplication(others, 'alwaysOn');
    await using following = clientOf(others[0] ?? '');
    await changed;
    if (moment === 'commit') await delay(commit_ms);
    else
      await pollUntil('the primary has a tail', rolledBackWithin_ms, async () => {
        return !(await lastWriteOf(leading)).equals(await lastWriteOf(following));
      });
    const last = await lastEntryOf(leading);
    await failOver(destination, primary, others, async (former) => {
      return (await former.db('local').collection('oplog.rs').findOne(last)) === null;
    });

    await writes.stop();
    if (moment !== 'commit') {
      await untilCanCommit(client);
      await untilTaken(() => client.commit());
    }
    await untilCommitted(client);
    expect(writes.acknowledged).toBeGreaterThan(0);
    expect(await writes.lostOn(clusters.clients.destination)).toEqual([]);
    await clusters.expectEqual();
  },
);
