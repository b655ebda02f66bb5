import type { Progress } from '@convoy/api/contract/progress';
import { expect, test } from 'vitest';
import { largeCollection } from '../data.js';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from '../fleet.js';
import { CommandGate } from '../gate/command-gate.js';
import { needs } from '../requirements.js';

/** Streams stand still for 20 s, then calls are without an answer for as long; the rest is left to do. */
const committedWithin_ms = 60_000;
/** Two streams of the verifier's and the task's own, and the DDL watcher's. */
const streams = 3;

test(
  'a commit ends although a firewall has cut the connections to the source without a word, and names it',
  needs({ version: [5, 0], inFull: true }),
  async () => {
    await using clusters = await Clusters.little({ source: { shards: 2 }, destination: { shards: 2 } });
    await using gate = await CommandGate.open(clusters.source);
    const way = gate.way(clusters.source);
    await using instance = await clusters.startLoneInstanceHere({ sourceAccess: 'router' }, way);
    const { client } = instance;
    await client.start(defaultStart);
    await untilCanCommit(client);

    // The commit waits for a transaction, so that the connections are cut within it.
    await using session = clusters.clients.source.startSession();
    session.startTransaction();
    const { database, name } = largeCollection;
    await clusters.clients.source.db(database).collection(name).findOne({}, { session });
    await client.commit();
    await untilProgress(client, 'COMMITTING', ({ state }) => state === 'COMMITTING');
    let isCut = true;
    const cut = gate.hold((command) => isCut && command.name !== 'hello');
    const caught = (command: string): number => cut.waiting.filter((one) => one.name === command).length;
    await expect.poll(() => [caught('getMore') >= streams, caught('aggregate') > 0]).toEqual([true, true]);
    isCut = false;
    await session.abortTransaction();

    const warned = new Set<string>();
    const isCommitted = ({ state, canWrite, warnings }: Progress): boolean => {
      for (const warning of warnings ?? []) warned.add(`${warning.name}: ${warning.description}`);
      return state === 'COMMITTED' && canWrite === true;
    };
    await untilProgress(client, 'COMMITTED with canWrite', isCommitted, committedWithin_ms);
    expect([...warned]).toContainEqual(expect.stringMatching(/waitingForAnswer: Waiting for cluster0 router \(/));
    await clusters.expectEqual();
  },
);
