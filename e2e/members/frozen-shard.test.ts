import type { Progress } from '@convoy/api/contract/progress';
import { expect, test } from 'vitest';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from '../fleet.js';
import { needs } from '../requirements.js';
import { Workload } from '../workload.js';
import { membersNow } from './members.js';

const orders = 500;
const onSets = { version: [5, 0], real: true } as const;
/** Of the commit, while the primary stays frozen: an election, one call without an answer, and what is left to do. */
const committedWithin_ms = 120_000;

const sides = [
  { side: 'source', topology: { source: { shards: 2 }, destination: 'replicaSet' } },
  { side: 'destination', topology: { source: 'replicaSet', destination: { shards: 2 } } },
] as const;

test.each(sides)(
  'a commit ends while the primary of a shard behind the router is frozen, and is named: $side',
  needs(onSets),
  async ({ side, topology }) => {
    await using clusters = await Clusters.loaded({ ...topology, members: 3 }, orders);
    await using instance = await clusters.startLoneInstanceHere({ sourceAccess: 'router' });
    await using workload = Workload.start(clusters.clients.source, orders);
    const { client } = instance;
    await client.start(defaultStart);
    await untilCanCommit(client);
    await workload.stop();

    // The commit waits for a transaction, so that the member freezes within it.
    const session = clusters.clients.source.startSession();
    session.startTransaction();
    await clusters.clients.source.db('e2e').collection('held').findOne({}, { session });
    await client.commit();
    await untilProgress(client, 'COMMITTING', ({ state }) => state === 'COMMITTING');

    const cluster = clusters[side];
    const [, shard = ''] = cluster.shardIds;
    const { primary } = await membersNow(cluster, shard);
    cluster.signal?.(primary, 'SIGSTOP');
    const frozenAt_ms = performance.now();
    try {
      const ended = session.endSession();
      const named: string[] = [];
      const isCommitted = ({ state, canWrite, warnings }: Progress): boolean => {
        for (const { name, description } of warnings ?? []) {
          const text = `${name}: ${description}`;
          if (!named.includes(text)) {
            named.push(text);
            console.log(Math.round(performance.now() - frozenAt_ms), text);
          }
        }
        return state === 'COMMITTED' && canWrite === true;
      };
      await untilProgress(client, 'COMMITTED with canWrite', isCommitted, committedWithin_ms);
      console.log(side, 'committed after', Math.round(performance.now() - frozenAt_ms));
      expect(named.join('\n')).toContain('waitingForAnswer');
      void ended;
    } finally {
      cluster.signal?.(primary, 'SIGCONT');
    }
    expect((await clusters.compare()).differences).toEqual([]);
  },
);
