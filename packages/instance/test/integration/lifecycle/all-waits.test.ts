import type { Progress } from '@convoy/api/contract/progress';
import type { Collection } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { Fixture, type Releases, type Side } from '../contract/fixture.js';
import { blockingReleases } from '../contract/releases.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';
import { indexStates } from '../ddl/index-states.js';

interface Order {
  _id: number;
  a: number;
}

/** Nothing is waited for longer before it has a name; a machine under load takes some of it for other things. */
const named_ms = 20_000;
/** A call that is held has an answer after so long: below the limit at which it is repeated. */
const held_ms = 12_000;

let fixture: Fixture;

afterEach(() => fixture.close());

function ordersOf({ client }: Side): Collection<Order> {
  return client.db('shop').collection<Order>('orders');
}

/** Ends what makes a commit wait. */
type Release = () => Promise<unknown>;

/** Sets a fail point of a cluster. @returns sets it off */
async function failPoint({ client }: Side, configureFailPoint: string, data?: object): Promise<Release> {
  const admin = client.db('admin');
  await admin.command({ configureFailPoint, mode: 'alwaysOn', ...(data && { data }) });
  return () => admin.command({ configureFailPoint, mode: 'off' });
}

/** Holds the answers of a cluster to some commands. */
function hold(side: Side, failCommands: string[], namespace?: string): Promise<Release> {
  const which = { failCommands, ...(namespace !== undefined && { namespace }) };
  return failPoint(side, 'failCommand', { ...which, blockConnection: true, blockTimeMS: held_ms });
}

/** Begins an index on the source that one of the clusters does not finish. */
async function beginIndex(building: Side): Promise<Release> {
  const off = await failPoint(building, 'hangAfterInitializingIndexBuild');
  const built = ordersOf(fixture.cluster0).createIndex({ a: 1 }, {}, {});
  built.catch(() => undefined);
  if (building === fixture.cluster0) await expect.poll(() => indexStates(ordersOf(building))).toHaveProperty('a_1');
  return async () => {
    await off();
    await built;
  };
}

/** What makes a commit wait, with the name of its warning and what it says. */
const waits: [what: string, warning: string, says: RegExp, begin: () => Promise<Release>][] = [
  [
    'a transaction of the source that does not end',
    'commitHeldByTransactions',
    /./,
    async () => {
      const { client } = fixture.cluster0;
      const session = client.startSession();
      session.startTransaction();
      await client.db('shop').collection<Order>('orders').insertOne({ _id: 100, a: 100 }, { session });
      return async () => {
        await session.commitTransaction();
        await session.endSession();
      };
    },
  ],
  [
    'an index of the source',
    'buildingIndexes',
    /^The source .*a_1 of shop\.orders/,
    () => beginIndex(fixture.cluster0),
  ],
  [
    'an index of the destination',
    'buildingIndexes',
    /^The destination .*a_1 of shop\.orders/,
    () => beginIndex(fixture.cluster1),
  ],
  [
    'documents of the destination that share a key',
    'commitHeldByDuplicates',
    /shop\.items/,
    async () => {
      const items = fixture.cluster1.client.db('shop').collection<{ _id: number; name: string }>('items');
      await items.insertOne({ _id: 100, name: 'a' });
      return () => items.deleteOne({ _id: 100 });
    },
  ],
  [
    'a source that does not answer',
    'waitingForAnswer',
    /cluster0 /,
    () => hold(fixture.cluster0, ['listCollections', 'listIndexes', 'find', 'aggregate']),
  ],
  [
    'a destination that does not answer',
    'waitingForAnswer',
    /cluster1 /,
    () => hold(fixture.cluster1, ['listCollections', 'listIndexes', 'collMod']),
  ],
  [
    'a destination that does not store what Convoy records',
    'waitingForAnswer',
    /cluster1 /,
    () => hold(fixture.cluster1, ['update', 'findAndModify'], 'convoy_metadata.tasks'),
  ],
  [
    'a source whose answers are failures that pass',
    'retrying',
    /./,
    () => failPoint(fixture.cluster0, 'failCommand', { failCommands: ['listCollections'], errorCode: 91 }),
  ],
  [
    'a destination whose answers are failures that pass',
    'retrying',
    /./,
    () => failPoint(fixture.cluster1, 'failCommand', { failCommands: ['listCollections'], errorCode: 91 }),
  ],
];

/** Opens clusters, and brings a migration to where a commit is offered. */
async function untilOffered(options: object = {}, releases: Releases = {}): Promise<ServedInstance> {
  fixture = await Fixture.open('replicaSet', 'replicaSet', releases);
  const { client } = fixture.cluster0;
  await client
    .db('shop')
    .collection<{ _id: number; name: string }>('items')
    .createIndex({ name: 1 }, { unique: true }, {});
  await client.db('shop').collection<{ _id: number; name: string }>('items').insertOne({ _id: 1, name: 'a' });
  await ordersOf(fixture.cluster0).insertMany([1, 2].map((_id) => ({ _id, a: _id })));
  // The verifier would find what only the destination has before indexes are made unique.
  const instance = await fixture.startInstance({ catalogInterval_seconds: 3_600 });
  await instance.accepted('start', startBody({ verification: { enabled: false }, ...options }));
  await instance.untilCanCommit();
  return instance;
}

/** The description of a warning, once it is there; what there is instead when it takes longer than seconds. */
async function nameWithin(instance: ServedInstance, warning: string): Promise<string> {
  const end_ms = performance.now() + named_ms;
  const found = (progress: Progress): string | undefined =>
    progress.warnings?.find(({ name }) => name === warning)?.description;
  const last = await instance.until(
    `${warning} is there, the commit ends, or time is up`,
    (progress) => found(progress) !== undefined || progress.state === 'COMMITTED' || performance.now() > end_ms,
  );
  return found(last) ?? `${last.state}: ${JSON.stringify(last.warnings)}`;
}

describe('all waits of a commit are named within seconds', () => {
  it.each(waits)('%s: %s', async (_what, warning, says, begin) => {
    await using instance = await untilOffered();
    const release = await begin();
    try {
      await instance.accepted('commit');
      expect(await nameWithin(instance, warning)).toMatch(says);
      expect(await instance.progress()).toMatchObject({ state: 'COMMITTING', canWrite: false });
    } finally {
      await release();
    }
    const { warnings } = await instance.untilState('COMMITTED');
    expect(warnings?.map(({ name }) => name)).not.toContain(warning);
  });

  it('a block of user writes that waits for a transaction of a user', async () => {
    await using instance = await untilOffered({ enableUserWriteBlocking: true }, blockingReleases);
    const { shopper } = fixture.cluster0;
    await using session = shopper.startSession();
    session.startTransaction();
    await shopper.db('shop').collection<Order>('orders').insertOne({ _id: 100, a: 100 }, { session });
    await instance.accepted('commit');
    const named = await Promise.any(
      ['waitingForAnswer', 'commitHeldByTransactions'].map(async (warning) => {
        const found = await nameWithin(instance, warning);
        if (found.startsWith('COMMIT')) throw new Error(found);
        return found;
      }),
    );
    expect(named).toMatch(/cluster0|transaction/i);
    await session.abortTransaction();
    await instance.untilState('COMMITTED');
  });
});
