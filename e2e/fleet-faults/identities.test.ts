import { expect, test } from 'vitest';
import { idleReport } from '@convoy/api/fleet/idle-report';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import type { Fleet } from '@convoy/cli/environment/fleet/start-fleet';
import { parseRedisSettings } from '@convoy/coordinator/config/redis-config';
import { RedisFleet } from '@convoy/coordinator/fleet/redis-fleet';
import { createLogger } from '@convoy/instance/logging/logger';
import { Clusters, defaultStart } from '../fleet.js';
import { needs } from '../requirements.js';
import { readElections } from './leaders.js';
import { within_ms } from './step-hold.js';

test(
  'a fleet refuses a second process of one identity, names outliers, and has a new leader after a death and after a ' +
    'stop (servers from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    await using clusters = await Clusters.start({ source: { shards: 3 }, destination: { shards: 2 } });
    await using fleet = await clusters.startFleet();
    const problems = (): Promise<Record<string, readonly string[]>> => problemsById(fleet);

    await expect(clusters.startInstance(fleet, 'shard0')).rejects.toThrow(/identityTaken/);

    await using other = await joinWithRelease(fleet, 'shard8', '99.0.0');
    await expect.poll(problems, { timeout: within_ms }).toMatchObject({ shard8: ['otherRelease'] });
    await other.leave();

    const outsider = await clusters.startInstance(fleet, 'shard9', { reversed: true });
    await expect.poll(problems, { timeout: within_ms }).toMatchObject({ shard9: ['otherClusters'] });
    await expect(fleet.coordinator.client.start(defaultStart)).rejects.toMatchObject({
      error: 'wrongCluster',
      errorDescription: expect.stringContaining('shard9') as string,
    });
    await outsider.stop();

    const died = await takeOver(fleet, (leader) => leader.kill());
    const stopped = await takeOver(fleet, (leader) => leader.stop());
    console.log(`a new leader ${died} ms after a death, ${stopped} ms after a clean stop`);
  },
);

async function problemsById({ coordinator }: Fleet): Promise<Record<string, readonly string[]>> {
  const reply = await fetch(`${coordinator.url}/api/v1/instances`);
  const { instances } = (await reply.json()) as { instances: { id: string; problems: string[] }[] };
  return Object.fromEntries(instances.map(({ id, problems }) => [id, problems]));
}

/** A member that says of itself to be of another release. */
async function joinWithRelease(
  { redis, name }: Fleet,
  id: string,
  release: string,
): Promise<RedisFleet & AsyncDisposable> {
  const member = new RedisFleet({
    redis: parseRedisSettings(redis.url),
    fleet: name,
    logger: createLogger({ verbosity: 'FATAL' }),
  });
  const identity = { id, syncID: id, incarnation: `${id} of ${release}`, release };
  await member.join(identity);
  member.report(idleReport(identity));
  return Object.assign(member, { [Symbol.asyncDispose]: () => member.leave() });
}

/** Ends the leader and waits until another is elected. @returns how long that took, in milliseconds */
async function takeOver({ instances }: Fleet, end: (leader: InstanceProcess) => Promise<unknown>): Promise<number> {
  const elections = (): ReturnType<typeof readElections> => readElections(instances.map(({ logFile }) => logFile));
  const before = elections();
  const leader = instances.find(({ logFile }) => logFile === before.at(-1));
  if (leader === undefined) throw new Error('No instance leads.');
  const endedAt_ms = performance.now();
  const ended = end(leader);
  await expect.poll(() => elections().length, { timeout: within_ms, interval: 20 }).toBeGreaterThan(before.length);
  const took_ms = Math.round(performance.now() - endedAt_ms);
  await ended;
  return took_ms;
}
