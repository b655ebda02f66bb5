import { expect, test } from 'vitest';
import type { Progress } from '@convoy/api/contract/progress';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import { runCommand as convoy } from '../packages/cli/test/command-host.js';
import { redisCommand } from './fleet-faults/redis-command.js';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from './fleet.js';
import { needs } from './requirements.js';

test(
  'a start while an instance is away is recorded: it says for whom, and the instance takes it when it comes, though ' +
    'the one that accepted it has died and Redis was flushed; a commit names it; so with pause and resume (servers ' +
    'from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    await using clusters = await Clusters.little({ source: { shards: 2 }, destination: { shards: 2 } });
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

    await redisCommand(fleet.redis.url, 'FLUSHALL', '+OK');
    await untilProgress(client, 'the start still waits, and somebody leads', isLedAndWaitsFor(late));
    await present.kill();
    await late.restart();
    await untilProgress(late.client, 'the late instance starts', ({ state }) => state === 'RUNNING');
    await present.restart();
    await untilProgress(client, 'all have started', ({ waitingFor }) => waitingFor?.length === 0);
    await untilProgress(client, 'canCommit', ({ canCommit }) => canCommit);

    await late.kill();
    await untilAway();
    await untilProgress(present.client, 'it is missed', ({ canCommit }) => !canCommit);
    await expect(client.commit()).rejects.toMatchObject(missed(late));
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
  needs({ version: [5, 0], inFull: true }),
  async () => {
    await using clusters = await Clusters.little({ source: { shards: 3 }, destination: { shards: 2 } });
    await using fleet = await clusters.startFleet();
    const [late] = fleet.instances.slice(-1);
    if (late === undefined) throw new Error('There must be three instances.');
    const { client } = fleet.coordinator;

    await late.stop();
    // Another instance may still be about to notice the new leader: then it takes the start a moment later.
    const started = await client.start(defaultStart);
    expect(started.waitingFor).toContain(late.name);
    await redisCommand(fleet.redis.url, 'FLUSHALL', '+OK');
    const waits = isLedAndWaitsFor(late);
    const { coordinatorID } = await untilProgress(client, 'the start still waits, and somebody leads', waits);
    const leader = fleet.instances.find(({ name }) => name === coordinatorID);
    if (leader === undefined) throw new Error('An instance must lead.');
    await leader.kill();
    await untilProgress(
      client,
      'another leads, and the start still waits',
      (progress) => progress.coordinatorID !== coordinatorID && waits(progress),
    );
    await Promise.all([late.restart(), leader.restart()]);
    await untilProgress(client, 'all have started', ({ waitingFor }) => waitingFor?.length === 0);
    await untilCanCommit(client);
    await late.stop();
    await expect(client.commit()).rejects.toMatchObject(missed(late));
    await late.restart();
    await clusters.cutOver(client);
  },
);

const isLedAndWaitsFor =
  ({ name }: InstanceProcess) =>
  ({ coordinatorID, waitingFor }: Progress): boolean =>
    coordinatorID !== null && waitingFor?.[0]?.instance === name;

/** A refused commit. */
const missed = ({ name }: InstanceProcess) => ({
  error: 'cannotCommit',
  errorDescription: expect.stringContaining(`${name}: it does not answer`) as string,
});
