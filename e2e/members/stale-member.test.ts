import type { Progress } from '@convoy/api/contract/progress';
import { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from '../fleet.js';
import { needs } from '../requirements.js';
import { membersNow } from './members.js';

const onSets = { version: [5, 0], real: true } as const;
const sets = { source: 'replicaSet', destination: 'replicaSet', members: 3 } as const;
/** Behind by this much, a member counts as one that gets nothing, and is named. */
const namedWithin_ms = 120_000;

/** Hides a member of the source, so that clients read from the other secondary. */
async function hide(clusters: Clusters, host: string): Promise<void> {
  const admin = clusters.clients.source.db('admin');
  const { config } = (await admin.command({ replSetGetConfig: 1 })) as {
    config: { version: number; members: { host: string }[] };
  };
  const members = config.members.map((one) => (one.host === host ? { ...one, hidden: true, priority: 0 } : one));
  await admin.command({ replSetReconfig: { ...config, version: config.version + 1, members } });
}

/** Stops a secondary from taking writes over, or lets it go on. */
async function holdReplication(host: string, mode: 'alwaysOn' | 'off'): Promise<void> {
  await using client = new MongoClient(`mongodb://${host}/?directConnection=true`);
  await client.db('admin').command({ configureFailPoint: 'rsSyncApplyStop', mode });
}

function named({ warnings }: Progress): string {
  return warnings?.find(({ name }) => name === 'waitingForAnswer')?.description ?? '';
}

test('a member that gets nothing is behind and named, and no commit is offered', needs(onSets), async () => {
  await using clusters = await Clusters.little(sets);
  const {
    others: [hidden = '', stale = ''],
  } = await membersNow(clusters.source, 'rs0');
  await hide(clusters, hidden);
  await using instance = await clusters.startLoneInstanceHere({ readPreference: 'secondary' });
  const { client } = instance;
  await client.start(defaultStart);
  await untilCanCommit(client);

  await holdReplication(stale, 'alwaysOn');
  try {
    await clusters.clients.source.db('shop').collection('late').insertOne({ late: true });
    const isNamed = (progress: Progress): boolean =>
      named(progress).includes(`its member ${stale}, which is far behind the primary`);
    const first = await untilProgress(client, 'the member is named', isNamed, namedWithin_ms);
    expect(first.lagTimeSeconds).toBeGreaterThan(20);
    // An offered commit stands until the lag is twice that of an offer.
    const last = await untilProgress(client, 'no commit is offered', ({ canCommit }) => !canCommit, namedWithin_ms);
    expect(isNamed(last)).toBe(true);
  } finally {
    await holdReplication(stale, 'off');
  }
  await untilCanCommit(client);
  await clusters.commit(client);
});
