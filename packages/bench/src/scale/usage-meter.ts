import { setTimeout as delay } from 'node:timers/promises';
import { readUsage } from '../process-usage.js';
import type { RedisObserver } from './redis-observer.js';
import type { ScaleFleet } from './scale-fleet.js';
import type { Stat } from './scale-rows.js';

/** Cost of a second of a phase. */
export interface PhaseUsage {
  redisCommands: number;
  published: number;
  redisBytesIn: number;
  redisBytesOut: number;
  /** Seconds of CPU: each is the busy part of one core. */
  redisCpu: number;
  coordinatorCpu: number;
  leaderCpu: number;
  plainCpu: number;
  /** Of all members together, the leader and the plain one included. */
  membersCpu: number;
}

/** Measures what Redis, the coordinator and the members of a fleet do in some seconds. */
export async function measurePhase(
  fleet: ScaleFleet,
  observer: RedisObserver,
  seconds: number,
  signal: AbortSignal,
): Promise<PhaseUsage> {
  const begin_ms = performance.now();
  const before = { redis: await observer.counters(), cpu: cpuOf(fleet) };
  await delay(seconds * 1000, undefined, { signal });
  const after = { redis: await observer.counters(), cpu: cpuOf(fleet) };
  const passed = (performance.now() - begin_ms) / 1000;
  const rate = <Name extends string>(name: Name, of: Record<Name, number>, was: Record<Name, number>): number =>
    (of[name] - was[name]) / passed;
  return {
    redisCommands: rate('commands', after.redis, before.redis),
    published: rate('published', after.redis, before.redis),
    redisBytesIn: rate('bytesIn', after.redis, before.redis),
    redisBytesOut: rate('bytesOut', after.redis, before.redis),
    redisCpu: rate('cpu_seconds', after.redis, before.redis),
    coordinatorCpu: rate('coordinator', after.cpu, before.cpu),
    leaderCpu: rate('leader', after.cpu, before.cpu),
    plainCpu: rate('plain', after.cpu, before.cpu),
    membersCpu: rate('members', after.cpu, before.cpu),
  };
}

function cpuOf({
  coordinator,
  leader,
  plain,
  members,
}: ScaleFleet): Record<'coordinator' | 'leader' | 'plain' | 'members', number> {
  const cpu = (...pids: number[]): number => readUsage(pids).cpu_seconds;
  return {
    coordinator: cpu(coordinator.pid),
    leader: cpu(leader.pid),
    plain: cpu(plain.pid),
    members: cpu(...members.map(({ pid }) => pid)),
  };
}

/** The usage of a phase as rows. */
export function usageStats(phase: string, usage: PhaseUsage): Stat[] {
  return [
    [`${phase}: Redis commands`, usage.redisCommands, '1/s'],
    [`${phase}: messages published`, usage.published, '1/s'],
    [`${phase}: into Redis`, usage.redisBytesIn / 1000, 'kB/s'],
    [`${phase}: out of Redis`, usage.redisBytesOut / 1000, 'kB/s'],
    [`${phase}: CPU of Redis`, usage.redisCpu * 100, '%'],
    [`${phase}: CPU of the coordinator`, usage.coordinatorCpu * 100, '%'],
    [`${phase}: CPU of the leader`, usage.leaderCpu * 100, '%'],
    [`${phase}: CPU of a plain member`, usage.plainCpu * 100, '%'],
    [`${phase}: CPU of all members`, usage.membersCpu * 100, '%'],
  ];
}
