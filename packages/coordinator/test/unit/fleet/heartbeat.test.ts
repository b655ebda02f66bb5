import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { makeIdentity } from '../../../../api/test/unit/fleet/fleet-behaviour.js';
import { fleetTimingsDefault } from '../../../src/fleet/fleet-link.js';
import { Heartbeat } from '../../../src/fleet/heartbeat.js';
import { fleetKeys } from '../../../src/redis/keys.js';
import { FleetSignature } from '../../../src/redis/signature.js';

const minute_ms = 60_000;
const identity = makeIdentity('a');

/** For each heartbeat, whether it published the report as news, and whether with another standing. */
let reported: boolean[];
let standings: boolean[];
let heartbeat: Heartbeat;

beforeEach(() => {
  vi.useFakeTimers();
  reported = [];
  standings = [];
  const connection = {
    eval: (...parts: unknown[]) => {
      reported.push(parts.at(-3) === 1);
      standings.push(parts.at(-2) === 1);
      return Promise.resolve(1);
    },
  };
  const clock = { now_ms: () => Date.now(), monotonic_ms: () => performance.now() };
  const logger = pino({ level: 'silent' });
  heartbeat = new Heartbeat({
    connection,
    keys: fleetKeys('fleet', 'convoy'),
    identity,
    timings: fleetTimingsDefault,
    signature: new FleetSignature(undefined, 'convoy', clock, logger),
    clock,
    logger,
    hearsAll: () => false,
    onHeld: () => undefined,
    onRoster: () => undefined,
  });
});

afterEach(async () => {
  await heartbeat.stop();
  vi.useRealTimers();
});

it('publishes an unchanged report periodically, for a Redis that silently lost it', async () => {
  heartbeat.start();
  heartbeat.publish(idleReport(identity));
  await vi.advanceTimersByTimeAsync(minute_ms / 6);
  reported = [];
  await vi.advanceTimersByTimeAsync(2 * minute_ms);
  expect(reported.length).toBeGreaterThan(100);
  expect(reported.filter(Boolean)).toHaveLength(4);
});

it('makes peers read a report again for another standing and every two minutes, not for counters', async () => {
  heartbeat.start();
  heartbeat.publish(idleReport(identity));
  await vi.advanceTimersByTimeAsync(2_000);
  standings = [];
  for (let second = 0; second < 300; second += 1) {
    heartbeat.publish(idleReport(identity, { rates: { copyBytesPerSecond: second, eventsPerSecond: 0 } }));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(reported.filter(Boolean).length).toBeGreaterThan(290);
  expect(standings.filter(Boolean)).toHaveLength(2);
  standings = [];
  heartbeat.publish(idleReport(identity, { state: 'RUNNING' }));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(standings.filter(Boolean)).toHaveLength(1);
});
