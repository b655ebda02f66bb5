import pino from 'pino';
import type { Secret } from '@convoy/api/configuration/secret';
import type { InstanceIdentity } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { makeIdentity, until } from '../../../api/test/unit/fleet/fleet-behaviour.js';
import { FleetDirector } from '../../src/director/fleet-director.js';
import type { FleetLinkOptions, FleetTimings } from '../../src/fleet/fleet-link.js';
import { RedisConsole } from '../../src/fleet/redis-console.js';
import { RedisFleet } from '../../src/fleet/redis-fleet.js';
import type { RedisSettings } from '../../src/redis/redis-settings.js';

export { makeIdentity, until };

/**
 * Leases short enough for a test to see them expire, and long enough for a busy host: all members of a test live in one
 * process, which loses its leases when it does not run for that long.
 */
export const shortTimings: Partial<FleetTimings> = {
  identityLease_ms: 2_500,
  keepAlive_ms: 200,
  publishGap_ms: 20,
  leaderLease_ms: 2_500,
  redisCall_ms: 2_000,
  leaveWait_ms: 500,
};

/** A silent log. */
export const silent = pino({ level: 'silent' });

/** A log on which tests wait for events by name. */
export class EventLog {
  readonly #seen: string[] = [];
  #waiting: (() => void) | undefined;
  readonly logger = pino({ level: 'debug' }, { write: (line) => this.#take(line) });

  /** Waits until the event was logged the given number of times. */
  async until(event: string, times = 1): Promise<void> {
    while (this.#seen.filter((one) => one === event).length < times) {
      await new Promise<void>((resolve) => (this.#waiting = resolve));
    }
  }

  #take(line: string): void {
    this.#seen.push((JSON.parse(line) as { event: string }).event);
    this.#waiting?.();
  }
}

/** A director of a fleet over Redis, and the console that it uses. */
export function directorOver(
  link: FleetLinkOptions,
  commandLimit_ms?: number,
): { director: FleetDirector; console: RedisConsole } {
  const console = new RedisConsole(link);
  return { director: new FleetDirector(console, link.logger, commandLimit_ms), console };
}

/** One joined instance of a test's fleet. */
export interface TestMember {
  readonly fleet: RedisFleet;
  readonly identity: InstanceIdentity;
}

/** The members of one fleet, which a test creates and closes together. */
export class TestMembers {
  readonly #settings: RedisSettings;
  readonly #fleet: string;
  readonly #fleetSecret: Secret | undefined;
  readonly #made: RedisFleet[] = [];

  constructor(settings: RedisSettings, fleet: string, fleetSecret?: Secret) {
    this.#fleetSecret = fleetSecret;
    this.#settings = settings;
    this.#fleet = fleet;
  }

  make(timings: Partial<FleetTimings> = {}, logger = silent): RedisFleet {
    const fleet = new RedisFleet({
      redis: this.#settings,
      fleet: this.#fleet,
      fleetSecret: this.#fleetSecret,
      logger,
      timings: { ...shortTimings, ...timings },
    });
    this.#made.push(fleet);
    return fleet;
  }

  /** Joins under the id and reports IDLE. */
  async join(id: string, timings: Partial<FleetTimings> = {}, logger = silent): Promise<TestMember> {
    const fleet = this.make(timings, logger);
    const identity = makeIdentity(id);
    await fleet.join(identity);
    fleet.report(idleReport(identity));
    return { fleet, identity };
  }

  async end(): Promise<void> {
    await Promise.all(this.#made.map((fleet) => fleet.leave()));
  }
}
