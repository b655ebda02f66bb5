import { afterEach, describe, expect, it } from 'vitest';
import type { Fleet, FleetNews, InstanceIdentity } from '../../../src/fleet/fleet.js';
import { idleReport } from '../../../src/fleet/idle-report.js';

/** Time limit of any wait in a test, so that a defect appears as a named failure. */
const WAIT_MS_MAX = 60_000;

let identitiesMade = 0;

/** A new identity for each call, under the given id. */
export function makeIdentity(id: string): InstanceIdentity {
  identitiesMade += 1;
  const incarnation = `${process.pid}-${identitiesMade}`;
  return { id, syncID: `sync-${id}`, incarnation, release: '2.0.0' };
}

/** Waits for a condition on a fleet and checks it after each change. */
export async function until(
  fleet: { watch(listener: () => void): () => void },
  what: string,
  condition: () => boolean,
): Promise<void> {
  if (condition()) return;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => finish(() => reject(new Error(`waited in vain: ${what}`))), WAIT_MS_MAX);
    const unwatch = fleet.watch(() => {
      if (condition()) finish(resolve);
    });
    function finish(end: () => void): void {
      clearTimeout(timer);
      unwatch();
      end();
    }
  });
}

/** Behaviour of every implementation of `Fleet` with a single instance. */
export function describeFleet(name: string, makeFleet: () => Fleet | Promise<Fleet>): void {
  describe(`${name} as a Fleet`, () => {
    const fleets: Fleet[] = [];
    const made = async (): Promise<Fleet> => {
      const fleet = await makeFleet();
      fleets.push(fleet);
      return fleet;
    };
    const joined = async (): Promise<{ fleet: Fleet; identity: InstanceIdentity }> => {
      const fleet = await made();
      const identity = makeIdentity('shard0');
      await fleet.join(identity);
      return { fleet, identity };
    };
    afterEach(async () => {
      await Promise.all(fleets.splice(0).map((fleet) => fleet.leave()));
    });

    it('has no leader and no reports before it is joined', async () => {
      const fleet = await made();
      expect(fleet.leader()).toBeNull();
      expect(fleet.isLeader()).toBe(false);
      expect(fleet.reports().size).toBe(0);
    });

    it('is led by its only instance', async () => {
      const { fleet, identity } = await joined();
      await until(fleet, 'leader', () => fleet.isLeader());
      expect(fleet.leader()).toEqual({ id: identity.id, syncID: identity.syncID });
    });

    it('shows its own report immediately, and the last one of several', async () => {
      const { fleet, identity } = await joined();
      fleet.report(idleReport(identity));
      fleet.report(idleReport(identity, { state: 'RUNNING', step: 'copying' }));
      const seen = fleet.reports().get('shard0');
      expect(seen?.report).toEqual(idleReport(identity, { state: 'RUNNING', step: 'copying' }));
      expect(seen?.fresh).toBe(true);
      expect(Math.abs(Date.now() - (seen?.reportedAt_ms ?? 0))).toBeLessThan(10_000);
    });

    it('notifies watchers of reports until they unsubscribe', async () => {
      const { fleet, identity } = await joined();
      await until(fleet, 'leader', () => fleet.isLeader());
      let ended = 0;
      fleet.watch(() => (ended += 1))();
      const seen = until(fleet, 'report', () => fleet.reports().size === 1);
      fleet.report(idleReport(identity));
      await seen;
      expect(ended).toBe(0);
    });

    it('notifies once for simultaneous changes', async () => {
      const { fleet, identity } = await joined();
      await until(fleet, 'leader', () => fleet.isLeader());
      let reported = 0;
      fleet.watch(() => (reported += 1));
      for (let at = 0; at < 100; at += 1) fleet.report(idleReport(identity, { step: `step ${at}` }));
      await until(fleet, 'last step', () => fleet.reports().get('shard0')?.report.step === 'step 99' && reported > 0);
      expect(reported).toBe(1);
    });

    it('names the topic: a wake is not a report, and reaches its sender', async () => {
      const { fleet, identity } = await joined();
      await until(fleet, 'leader', () => fleet.isLeader());
      const reported: FleetNews[][] = [];
      fleet.watch((news) => {
        // The notification of the election may still arrive.
        const others = [...news].filter((each) => each !== 'leader').sort();
        if (others.length > 0) reported.push(others);
      });
      fleet.report(idleReport(identity));
      await until(fleet, 'report', () => reported.length === 1);
      fleet.wake();
      await until(fleet, 'wake', () => reported.length === 2);
      fleet.report(idleReport(identity, { step: 'copying' }));
      fleet.announceDdlWatermark();
      await until(fleet, 'both', () => reported.length === 3);
      expect(reported).toEqual([['report'], ['wake'], ['ddlWatermark', 'report']]);
    });

    it('accepts wakes and a command handler without peers', async () => {
      const { fleet } = await joined();
      fleet.serve(() => Promise.resolve({ success: true }));
      fleet.wake();
      expect(fleet.reports().size).toBe(0);
    });

    it('stops leading when it leaves, and may leave twice', async () => {
      const { fleet } = await joined();
      await until(fleet, 'leader', () => fleet.isLeader());
      await fleet.leave();
      await fleet.leave();
      expect(fleet.isLeader()).toBe(false);
    });
  });
}
