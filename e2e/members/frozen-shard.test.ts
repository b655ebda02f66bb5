import type { Progress } from '@convoy/api/contract/progress';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import { expect, test } from 'vitest';
import { largeCollection } from '../data.js';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from '../fleet.js';
import { needs } from '../requirements.js';
import { Workload } from '../workload.js';
import { membersNow } from './members.js';

const orders = 500;
const onSets = { version: [5, 0], real: true } as const;
/** Of a commit while a primary stays frozen: an election, one call without an answer, and what is left to do. */
const committedWithin_ms = 60_000;

const { database, name: collection } = largeCollection;
const onShards: StartRequestBody = {
  ...defaultStart,
  sharding: {
    createSupportingIndexes: false,
    shardingEntries: [{ database, collection, shardCollection: { key: [{ _id: 'hashed' }] } }],
  },
};

const sides = [
  { side: 'source', topology: { source: { shards: 2 }, destination: 'replicaSet' }, start: defaultStart },
  { side: 'destination', topology: { source: 'replicaSet', destination: { shards: 2 } }, start: onShards },
] as const;

test.each(sides)(
  'a commit ends while the primary of a shard behind the router is frozen, and names it: $side',
  needs(onSets),
  async ({ side, topology, start }) => {
    await using clusters = await Clusters.loaded({ ...topology, members: 3 }, orders);
    const source = clusters.clients.source.db(database);
    await source.command({ createIndexes: collection, indexes: [{ key: { _id: 'hashed' }, name: '_id_hashed' }] });
    await using instance = await clusters.startLoneInstanceHere({ sourceAccess: 'router' });
    await using workload = Workload.start(clusters.clients.source, orders);
    const { client } = instance;
    await client.start(start);
    await untilCanCommit(client);
    await workload.stop();

    // The commit waits for a transaction, so that the member freezes within it.
    await using session = clusters.clients.source.startSession();
    session.startTransaction();
    await source.collection(collection).findOne({}, { session });
    await client.commit();
    await untilProgress(client, 'COMMITTING', ({ state }) => state === 'COMMITTING');

    const cluster = clusters[side];
    const shard = cluster.shardIds[1] ?? '';
    const { primary } = await membersNow(cluster, shard);
    const warned = new Set<string>();
    const isCommitted = ({ state, canWrite, warnings }: Progress): boolean => {
      for (const { name, description } of warnings ?? []) warned.add(`${name}: ${description}`);
      return state === 'COMMITTED' && canWrite === true;
    };
    cluster.signal?.(primary, 'SIGSTOP');
    // The router answers once the member goes on.
    const ended = session.abortTransaction();
    try {
      await untilProgress(client, 'COMMITTED with canWrite', isCommitted, committedWithin_ms);
    } finally {
      cluster.signal?.(primary, 'SIGCONT');
    }
    await ended.catch(() => undefined);
    const name = side === 'source' ? 'cluster0' : 'cluster1';
    expect([...warned]).toContainEqual(expect.stringMatching(`waitingForAnswer: .*${name} router.*${primary} of`));
    expect((await clusters.compare()).differences).toEqual([]);
  },
);
