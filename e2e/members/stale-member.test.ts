import type { Document } from 'mongodb';
import type { Progress } from '@convoy/api/contract/progress';
import { expect, test } from 'vitest';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from '../fleet.js';
import { needs } from '../requirements.js';
import { membersNow, onMember, setsOfThree } from './members.js';

const onSets = { version: [5, 0], real: true } as const;
/** Behind by this much, a member counts as one that gets nothing, and is named. */
const namedWithin_ms = 120_000;

/** Changes a member of the source in the configuration of its set. */
async function reconfigure(clusters: Clusters, host: string, change: Document): Promise<void> {
  const admin = clusters.clients.source.db('admin');
  const { config } = (await admin.command({ replSetGetConfig: 1 })) as {
    config: { version: number; members: { host: string }[] };
  };
  const members = config.members.map((one) => (one.host === host ? { ...one, ...change } : one));
  await admin.command({ replSetReconfig: { ...config, version: config.version + 1, members } });
}

/** Hides a member of the source, so that clients read from the other secondary. */
function hide(clusters: Clusters, host: string): Promise<void> {
  return reconfigure(clusters, host, { hidden: true, priority: 0 });
}

/** Stops a secondary from taking writes over, or lets it go on. */
function holdReplication(host: string, mode: 'alwaysOn' | 'off'): Promise<Document> {
  return onMember(host, { configureFailPoint: 'rsSyncApplyStop', mode });
}

function named({ warnings }: Progress): string {
  return warnings?.find(({ name }) => name === 'waitingForAnswer')?.description ?? '';
}

test('a member that gets nothing is behind and named, and no commit is offered', needs(onSets), async () => {
  await using clusters = await Clusters.little(setsOfThree);
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

/** The delay of the one member that may be read: more than what leaves a member out. */
const delay_seconds = 60;

test(
  'a delayed member that is the only readable one is named from the start, and no commit is offered',
  needs(onSets),
  async () => {
    await using clusters = await Clusters.little(setsOfThree);
    const {
      others: [hidden = '', delayed = ''],
    } = await membersNow(clusters.source, 'rs0');
    await hide(clusters, hidden);
    await reconfigure(clusters, delayed, { priority: 0, secondaryDelaySecs: delay_seconds });
    await clusters.clients.source.db('shop').collection('late').insertOne({ late: true });
    await using instance = await clusters.startLoneInstanceHere({ readPreference: 'secondary' });
    const { client } = instance;
    const started = client.start(defaultStart);
    started.catch(() => undefined);
    const isWarned = ({ warnings }: Progress): boolean =>
      (warnings ?? []).some(({ name, description }) => name === 'waitingForAnswer' && description.includes('cluster0'));
    const first = await untilProgress(client, 'what answers late is named', isWarned, namedWithin_ms);
    expect(first.canCommit).toBe(false);

    await reconfigure(clusters, delayed, { priority: 0, secondaryDelaySecs: 0 });
    await started;
    await untilCanCommit(client);
    await clusters.commit(client);
  },
);
