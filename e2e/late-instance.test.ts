import { expect, test } from 'vitest';
import type { Progress } from '@convoy/api/contract/progress';
import { runConvoy as convoy } from '@convoy/cli/environment/fleet/run-convoy';
import { redisCommand } from './fleet-faults/redis-command.js';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from './fleet.js';
import { needs } from './requirements.js';

test(
  'a start while an instance is away is recorded: it says for whom, and the instance takes it when it comes, though ' +
    'the one that accepted it has died; so with pause and resume (servers from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    await using clusters = await Clusters.loaded({ source: { shards: 2 }, destination: { shards: 2 } }, 1_000);
    await using fleet = await clusters.startFleet();
    const [present, late] = fleet.instances;
    if (!present || !late) throw new Error('There must be two instances.');
    const { client, url } = fleet.coordinator;
    const service = ['--url', url];
    const isWaiting = (command: string) => [{ instance: late.name, command }];
    const untilAway = () =>
      expect
        .poll(async () => (await client.fleetProgress().catch(() => null))?.progress.instances, { timeout: 60_000 })
        .toEqual(expect.arrayContaining([expect.objectContaining({ id: late.name, reachable: false })]));

    await late.stop();
    const started = await convoy('start', ...service);
    expect(started).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`WAITING for ${late.name} to start. The command is recorded:`) as string,
    });
    const waiting = await untilProgress(client, 'the start waits', ({ waitingFor }) => waitingFor?.length === 1);
    expect(waiting).toMatchObject({ state: 'RUNNING', canCommit: false, waitingFor: isWaiting('start') });
    expect(waiting.warnings).toContainEqual({
      name: 'waitingForInstances',
      description: expect.stringContaining(`WAITING for ${late.name} to start`) as string,
    });
    expect(await convoy('progress', ...service)).toMatchObject({
      stdout: expect.stringContaining(`WAITING for ${late.name} to start`) as string,
    });
    const shown = await convoy('start', '--wait', '1', ...service);
    expect(shown.stdout).toContain(`WAITING for ${late.name} to start`);
    await expect(client.start({ ...defaultStart, buildIndexes: 'never' })).rejects.toMatchObject({
      error: 'optionsDiffer',
      errorDescription: expect.stringContaining('buildIndexes') as string,
    });

    await present.kill();
    await late.restart();
    await untilProgress(late.client, 'the late instance starts', ({ state }) => state === 'RUNNING');
    await present.restart();
    await untilProgress(client, 'all have started', ({ waitingFor }) => waitingFor?.length === 0);
    await untilProgress(client, 'canCommit', ({ canCommit }) => canCommit);

    await late.kill();
    await untilAway();
    expect(await client.pause()).toEqual({ success: true, waitingFor: [late.name] });
    await late.restart();
    await untilProgress(client, 'all are paused', ({ state }) => state === 'PAUSED');
    await late.kill();
    await untilAway();
    expect(await client.resume()).toEqual({ success: true, waitingFor: [late.name] });
    expect(await convoy('resume', ...service)).toMatchObject({
      stdout: expect.stringContaining(`WAITING for ${late.name} to resume`) as string,
    });
    await late.restart();
    await clusters.cutOver(client);
  },
);

test(
  'a start that waits outlives a flushed Redis and the leader: the next one begins once all have come, and a commit ' +
    'without one of them names it (servers from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    await using clusters = await Clusters.loaded({ source: { shards: 3 }, destination: { shards: 2 } }, 600);
    await using fleet = await clusters.startFleet();
    const [late] = fleet.instances.slice(-1);
    if (late === undefined) throw new Error('There must be three instances.');
    const { client } = fleet.coordinator;
    const waitsForLate = ({ waitingFor }: Progress): boolean =>
      waitingFor?.map(({ instance }) => instance)[0] === late.name;

    await late.stop();
    // Another instance may still be about to notice the new leader: then it takes the start a moment later.
    const started = await client.start(defaultStart);
    expect(started.waitingFor).toContain(late.name);
    await redisCommand(fleet.redis.url, 'FLUSHALL', '+OK');
    const { coordinatorID } = await untilProgress(
      client,
      'the start still waits, and somebody leads',
      (progress) => waitsForLate(progress) && progress.coordinatorID !== null,
    );
    const leader = fleet.instances.find(({ name }) => name === coordinatorID);
    if (leader === undefined) throw new Error('An instance must lead.');
    await leader.kill();
    await untilProgress(
      client,
      'another leads, and the start still waits',
      (progress) => ![null, coordinatorID].includes(progress.coordinatorID) && waitsForLate(progress),
    );
    await Promise.all([late.restart(), leader.restart()]);
    await untilProgress(client, 'all have started', ({ waitingFor }) => waitingFor?.length === 0);
    await untilCanCommit(client);
    await late.stop();
    await expect(client.commit()).rejects.toMatchObject({
      error: 'cannotCommit',
      errorDescription: expect.stringMatching(new RegExp(`${late.name}: it does not answer`)) as string,
    });
    await late.restart();
    await clusters.cutOver(client);
  },
);
