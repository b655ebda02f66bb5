import { pollUntil } from '@convoy/testbed/process/poll-until';
import type { Document } from 'mongodb';
import { expect, test } from 'vitest';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilProgress, untilTaken } from '../fleet.js';
import { guarded, needs } from '../requirements.js';
import { Random } from '@convoy/cli/demo/random';
import { testSeed } from '../../test/seed.js';
import { AcknowledgedWrites, membersNow, onMember, setsOfThree, untilAnotherLeads } from './members.js';

const onSets = { version: [6, 0], real: true } as const;
const blocking = { ...defaultStart, enableUserWriteBlocking: true } as const;
/** The state of a member that refuses the writes of users. */
const blocked = 2;
const storedWithin_ms = 60_000;
/** A commit of little data takes about as long. */
const commit_ms = 2_000;

test(
  'a block that the primary alone has does not count: the one that follows gets it, and no acknowledged write is lost',
  needs(onSets),
  async () => {
    await using clusters = await Clusters.little({ ...setsOfThree, ...guarded });
    const { source } = clusters;
    await using instance = await clusters.startLoneInstance();
    await instance.client.start(blocking);
    await using writes = AcknowledgedWrites.start(clusters.shoppers.source);
    await writes.untilMore();
    await untilCanCommit(instance.client);

    const { primary, others } = await membersNow(source, 'rs0');
    const hold = (mode: 'alwaysOn' | 'off') =>
      Promise.all(others.map((host) => onMember(host, { configureFailPoint: 'stopReplProducer', mode }, true)));
    await hold('alwaysOn');
    await untilTaken(() => instance.client.commit());
    await pollUntil('the primary alone has the block', storedWithin_ms, async () => {
      const { repl } = await onMember(primary, { serverStatus: 1 }, true);
      return (repl as Document)['userWriteBlockMode'] === blocked;
    });
    // Who comes next finds the block where it is.
    await instance.kill();
    await instance.restart();
    await untilProgress(instance.client, 'the commit goes on', ({ state }) => state === 'COMMITTING');
    source.signal?.(primary, 'SIGKILL');
    await hold('off');
    await untilAnotherLeads(source, 'rs0', primary);

    await untilCommitted(instance.client);
    await writes.stop();
    expect(await writes.missingOn(clusters.clients.destination)).toEqual([]);
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
    expect(await writes.missingOn(clusters.clients.destination)).toEqual([]);
    expect((await clusters.compare()).differences).toEqual([]);
  },
);
