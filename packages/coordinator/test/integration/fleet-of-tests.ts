import pino from 'pino';
import { makeIdentity, makeReport, until } from '../../../api/test/unit/fleet/fleet-behaviour.js';
import type { InstanceIdentity } from '@convoy/api/fleet/fleet';
import { RedisFleet } from '../../src/fleet/redis-fleet.js';
import type { FleetTimings } from '../../src/fleet/timings.js';
import type { RedisSettings } from '../../src/redis/redis-settings.js';

export { makeIdentity, makeReport, until };

/** Leases short enough that a test sees them run out, and long enough for a busy machine. */
export const shortTimings: Partial<FleetTimings> = {
  identityLease_ms: 900,
  keepAlive_ms: 150,
  publishGap_ms: 20,
  leaderLease_ms: 900,
  redisCall_ms: 1_000,
  leaveWait_ms: 500,
};

/** A log that says nothing. */
export const silent = pino({ level: 'silent' });

/** One joined instance of a test's fleet. */
export interface TestMember {
  readonly fleet: RedisFleet;
  readonly identity: InstanceIdentity;
}

/** The members of one fleet, which a test makes and ends together. */
export class TestMembers {
  readonly #settings: RedisSettings;
  readonly #fleet: string;
  readonly #made: RedisFleet[] = [];

  constructor(settings: RedisSettings, fleet: string) {
    this.#settings = settings;
    this.#fleet = fleet;
  }

  make(timings: Partial<FleetTimings> = {}): RedisFleet {
    const fleet = new RedisFleet({ redis: this.#settings, fleet: this.#fleet, logger: silent, timings: { ...shortTimings, ...timings } });
    this.#made.push(fleet);
    return fleet;
  }

  /** Joins under the id and reports as idle. */
  async join(id: string, timings: Partial<FleetTimings> = {}): Promise<TestMember> {
    const fleet = this.make(timings);
    const identity = makeIdentity(id);
    await fleet.join(identity);
    fleet.report(makeReport(identity));
    return { fleet, identity };
  }

  async end(): Promise<void> {
    await Promise.all(this.#made.map((fleet) => fleet.leave()));
  }
}
