import type { Document } from 'mongodb';
import type { Progress } from '@convoy/api/contract/progress';
import { expect, test } from 'vitest';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilProgress, untilTaken } from '../fleet.js';
import { needs } from '../requirements.js';
import { holdReplication, membersNow, onMember, reconfigure, setsOfThree } from './members.js';

const onSets = { version: [5, 0], real: true } as const;
/** Behind by this much, a member counts as one that gets nothing, and is named. */
const namedWithin_ms = 120_000;

/** Changes a member of the source in the configuration of its set. */
function reconfigureMember(clusters: Clusters, host: string, change: Document): Promise<void> {
  return reconfigure(clusters.clients.source, ({ members }) => ({
    members: members.map((one) => (one.host === host ? { ...one, ...change } : one)),
  }));
}

/** Hides one secondary of the source, so that clients read from the other one, which is returned. */
async function onlyReadable(clusters: Clusters): Promise<string> {
  const {
    others: [hidden = '', readable = ''],
  } = await membersNow(clusters.source, 'rs0');
  await reconfigureMember(clusters, hidden, { hidden: true, priority: 0 });
  return readable;
}

/** Stops a secondary from applying what it gets, or lets it go on. */
function holdApplying(host: string, mode: 'alwaysOn' | 'off'): Promise<Document> {
  return onMember(host, { configureFailPoint: 'rsSyncApplyStop', mode });
}

/** Whether a warning names the member as the one that answers too late. */
function namesBehind(member: string): (progress: Progress) => boolean {
  return ({ warnings }) =>
    warnings
      ?.find(({ name }) => name === 'waitingForAnswer')
      ?.description.includes(`its member ${member}, which is far behind the primary`) === true;
}

test('a member that gets nothing is behind and named, and no commit is offered', needs(onSets), async () => {
  await using clusters = await Clusters.little(setsOfThree);
  const stale = await onlyReadable(clusters);
  await using instance = await clusters.startLoneInstanceHere({ readPreference: 'secondary' });
  const { client } = instance;
  await client.start(defaultStart);
  await untilCanCommit(client);

  await holdApplying(stale, 'alwaysOn');
  try {
    await clusters.clients.source.db('shop').collection('late').insertOne({ late: true });
    const isNamed = namesBehind(stale);
    const first = await untilProgress(client, 'the member is named', isNamed, namedWithin_ms);
    expect(first.lagTimeSeconds).toBeGreaterThan(20);
    // An offered commit stands until the lag is twice that of an offer.
    const last = await untilProgress(client, 'no commit is offered', ({ canCommit }) => !canCommit, namedWithin_ms);
    expect(isNamed(last)).toBe(true);
  } finally {
    await holdApplying(stale, 'off');
  }
  await untilCanCommit(client);
  await clusters.commit(client);
});

test(
  'a migration from a member that gets nothing, from before its start on, names it, and goes on once it gets all',
  needs(onSets),
  async () => {
    await using clusters = await Clusters.little(setsOfThree);
    const stale = await onlyReadable(clusters);
    await holdReplication([stale], 'alwaysOn');
    try {
      const late = clusters.clients.source.db('shop').collection('late');
      await late.insertOne({ late: true }, { writeConcern: { w: 'majority' } });
      await using instance = await clusters.startLoneInstanceHere({ readPreference: 'secondary' });
      const { client } = instance;
      await untilTaken(() => client.start(defaultStart));
      const isNamed = namesBehind(stale);
      const first = await untilProgress(client, 'the member is named', isNamed, namedWithin_ms);
      expect(first.canCommit).toBe(false);
      expect(first.lagTimeSeconds ?? Infinity).toBeGreaterThan(20);
      await holdReplication([stale], 'off');
      await untilCanCommit(client);
      await clusters.commit(client);
      expect(await clusters.clients.destination.db('shop').collection('late').countDocuments()).toBe(1);
    } finally {
      await holdReplication([stale], 'off');
    }
  },
);

test(
  'a commit that is taken when its member gets nothing any more names it, and ends once it gets all',
  needs(onSets),
  async () => {
    await using clusters = await Clusters.little(setsOfThree);
    const stale = await onlyReadable(clusters);
    await using instance = await clusters.startLoneInstanceHere({ readPreference: 'secondary' });
    const { client } = instance;
    await client.start(defaultStart);
    await untilCanCommit(client);

    await holdReplication([stale], 'alwaysOn');
    try {
      const late = clusters.clients.source.db('shop').collection('late');
      await late.insertOne({ late: true }, { writeConcern: { w: 'majority' } });
      await client.commit();
      const isNamed = namesBehind(stale);
      const waiting = await untilProgress(
        client,
        'the member is named, or the commit ends',
        (progress) => isNamed(progress) || progress.state === 'COMMITTED',
        namedWithin_ms,
      );
      expect(waiting).toMatchObject({ state: 'COMMITTING', canWrite: false });
    } finally {
      await holdReplication([stale], 'off');
    }
    await untilCommitted(client);
    expect(await clusters.clients.destination.db('shop').collection('late').countDocuments()).toBe(1);
    await clusters.expectEqual();
  },
);

/** A member with any delay is not among those that a set shows to its clients. */
const delay_seconds = 60;

test('a start says that no member may be read where the only one is delayed', needs(onSets), async () => {
  await using clusters = await Clusters.little(setsOfThree);
  const delayed = await onlyReadable(clusters);
  await reconfigureMember(clusters, delayed, { priority: 0, secondaryDelaySecs: delay_seconds });
  await using instance = await clusters.startLoneInstanceHere({ readPreference: 'secondary' });
  const { client } = instance;
  await expect(client.start(defaultStart)).rejects.toMatchObject({
    error: 'sourceUnavailable',
    message: expect.stringMatching(
      /no member of the replica set is one that readPreference.*delayed.*Send start again/,
    ) as unknown,
  });

  await reconfigureMember(clusters, delayed, { priority: 0, secondaryDelaySecs: 0 });
  await untilTaken(() => client.start(defaultStart));
  await untilCanCommit(client);
  await clusters.commit(client);
});
