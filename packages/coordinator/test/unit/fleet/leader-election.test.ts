import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Watchers } from '@convoy/api/fleet/watchers';
import { fleetTimingsDefault } from '../../../src/fleet/fleet-link.js';
import { LeaderElection } from '../../../src/fleet/leader-election.js';
import { LeaderView, type LeaseHolder } from '../../../src/fleet/leader-lease.js';
import { asProcess, type CpuFraction, useRealTimers, useSlowTimers } from './slow-process.js';

const minute_ms = 60_000;
const reply_ms = 1;
const fast: CpuFraction = { runs_ms: 1, stands_ms: 0, from_ms: 0 };

/** A lease as in Redis. */
class VirtualLease {
  #holder: LeaseHolder | null = null;
  #until_ms = 0;
  /** Every process that took it from another one, or while vacant. */
  readonly takenBy: string[] = [];

  async campaign(candidate: LeaseHolder, lease_ms: number): Promise<LeaseHolder | null> {
    if (performance.now() >= this.#until_ms) this.#holder = null;
    if (this.#holder === null && this.takenBy.at(-1) !== candidate.id) this.takenBy.push(candidate.id);
    this.#holder ??= candidate;
    if (this.#holder === candidate) this.#until_ms = performance.now() + lease_ms;
    const holder = this.#holder;
    await new Promise<void>((resolve) => setTimeout(resolve, reply_ms));
    return holder;
  }

  holder(): Promise<LeaseHolder | null> {
    return Promise.resolve(this.#holder);
  }

  resign(): Promise<void> {
    return Promise.resolve();
  }
}

let lease: VirtualLease;
let elections: LeaderElection[];

beforeEach(() => {
  useSlowTimers();
  lease = new VirtualLease();
  elections = [];
});

afterEach(() => useRealTimers());

function begin(id: string, fraction: CpuFraction): LeaderElection {
  const watchers = new Watchers();
  const election = new LeaderElection({
    lease,
    lease_ms: fleetTimingsDefault.leaderLease_ms,
    candidate: { id, syncID: id, incarnation: id },
    view: new LeaderView(watchers),
    watchers,
    clock: { now_ms: () => Date.now(), monotonic_ms: () => performance.now() },
    logger: pino({ level: 'silent' }),
    reports: () => new Map(),
  });
  elections.push(election);
  asProcess(fraction, () => election.start());
  return election;
}

it('processes with a tenth of a processor settle on a leader after a few changes', async () => {
  // Each process runs in one of ten slots, longer than a fast process's lease.
  const fraction = { runs_ms: 600, stands_ms: 5_400 };
  for (let at = 0; at < 10; at += 1) begin(`shard${at}`, { ...fraction, from_ms: fraction.runs_ms * at });
  await vi.advanceTimersByTimeAsync(minute_ms);
  expect(lease.takenBy.length).toBeLessThanOrEqual(elections.length);
  const before = [...lease.takenBy];
  await vi.advanceTimersByTimeAsync(5 * minute_ms);
  expect(lease.takenBy).toEqual(before);
});

it('a slow leader keeps leading beside a fast process, and knows it at every moment', async () => {
  const slow = begin('shard0', { runs_ms: 600, stands_ms: 5_400, from_ms: 0 });
  await vi.advanceTimersByTimeAsync(minute_ms);
  begin('shard1', fast);
  for (let seconds = 0; seconds < 180; seconds += 1) {
    await vi.advanceTimersByTimeAsync(1_000);
    expect(slow.isLeader()).toBe(true);
  }
  expect(lease.takenBy).toEqual(['shard0']);
});

it('a fast leader that dies is replaced after the lease of a fast process', async () => {
  const { leaderLease_ms } = fleetTimingsDefault;
  const leader = begin('shard0', fast);
  await vi.advanceTimersByTimeAsync(2 * minute_ms);
  expect(leader.isLeader()).toBe(true);
  const successor = begin('shard1', fast);
  await vi.advanceTimersByTimeAsync(minute_ms);
  expect(lease.takenBy).toEqual(['shard0']);
  vi.spyOn(lease, 'campaign').mockImplementation((candidate, lease_ms) =>
    candidate.id === 'shard0'
      ? new Promise(() => undefined)
      : VirtualLease.prototype.campaign.call(lease, candidate, lease_ms),
  );
  await vi.advanceTimersByTimeAsync(2 * leaderLease_ms);
  expect(successor.isLeader()).toBe(true);
  expect(leader.isLeader()).toBe(false);
});
