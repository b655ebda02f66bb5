import { expect, test } from 'vitest';
import { RedisServer } from '@convoy/testbed/redis/redis-server';
import { isFullRun, needs } from '../requirements.js';
import { FaultyFleet } from './faulty-fleet.js';
import { type FaultPhase, leaderSteps, type LeaderStep } from './leader-steps.js';
import { type RedisFaultName, redisFaults } from './redis-faults.js';
import { within_ms } from './step-hold.js';

const testWithin_ms = 560_000;
const phases = Object.keys(leaderSteps) as FaultPhase[];

/**
 * Takes Redis away from a fleet in a phase, and waits until all instances are heard, one leads and the migration goes
 * on.
 */
export async function loseRedis(
  fleet: FaultyFleet,
  phase: FaultPhase,
  suspend: () => void,
  { name, absence_ms }: { name: RedisFaultName; absence_ms: number },
): Promise<void> {
  const { redis } = fleet.fleet;
  if (!(redis instanceof RedisServer)) throw new Error('This Redis cannot be taken away.');
  await redisFaults[name](redis, absence_ms);
  const backAt_ms = performance.now();
  suspend();
  const goesOn = await goingOn(fleet, phase);
  const since_ms = (): number => Math.round(performance.now() - backAt_ms);
  await expect.poll(() => isWhole(fleet), { timeout: within_ms }).toBe(true);
  const whole_ms = since_ms();
  await expect.poll(goesOn, { timeout: within_ms }).toBe(true);
  console.log(
    `Redis ${name} in the phase "${phase}": all are fresh and one leads ${whole_ms} ms after its return, ` +
      `the migration continues after ${since_ms()} ms`,
  );
}

/** Whether the coordinator process hears all instances, and one that leads. */
async function isWhole({ client, members }: FaultyFleet): Promise<boolean> {
  const { progress } = await client.fleetProgress();
  const heard = (progress.instances ?? []).filter(({ reachable }) => reachable);
  const isHeard = !(progress.warnings ?? []).some(({ name }) => name === 'redisUnavailable');
  return isHeard && heard.length === members.length && progress.coordinatorID !== null;
}

/** Proof that the migration continues: a new collection arrives, or the next phase begins. */
async function goingOn({ changes, clusters, client }: FaultyFleet, phase: FaultPhase): Promise<() => Promise<boolean>> {
  if (phase === 'ddlChanges' || phase === 'apply') return changes.probe(clusters.clients.destination);
  const { progress: before } = await client.progress();
  return async () => {
    const { progress } = await client.progress();
    if (phase === 'commit') return progress.state === 'COMMITTED';
    return progress.info !== 'initializing' && (progress.totalEventsApplied ?? 0) >= (before.totalEventsApplied ?? 0);
  };
}

/** A migration that loses its Redis in every phase. */
export function testLostRedis(name: RedisFaultName, absence_ms: number): void {
  const skip = !isFullRun || process.env['CONVOY_REDIS_URL'] !== undefined || needs({ version: [5, 0] }).skip;
  test(`Redis ${name} in each phase (servers from 5.0)`, { skip, timeout: testWithin_ms }, async () => {
    await using fleet = await FaultyFleet.start();
    await visitPhases(fleet, phases, async (phase, suspend) => {
      await loseRedis(fleet, phase, suspend, { name, absence_ms });
    });
    await fleet.expectEnd();
  });
}

/** Called while the fleet is held in a phase; `suspend` lets it go on. */
type Visitor = (phase: FaultPhase, suspend: () => void) => Promise<void>;

/** The steps that hold a fleet in the phases of the leader. */
const heldAt = {
  initialisation: 'makes collections',
  ddlChanges: 'waits for acknowledgements',
  commit: 'waits until all are drained',
} as const;

/** Brings a migration from its start to its commit, and visits it in some of its phases. */
async function visitPhases(fleet: FaultyFleet, phases: readonly FaultPhase[], visit: Visitor): Promise<void> {
  const visited = (phase: FaultPhase): boolean => phases.includes(phase);
  const heldIn = async (phase: keyof typeof heldAt, begin: () => Promise<void>): Promise<void> => {
    if (!visited(phase)) return begin();
    const step = (leaderSteps[phase] as readonly LeaderStep[]).find(({ name }) => name === heldAt[phase]);
    if (step === undefined) throw new Error(`There is no step "${heldAt[phase]}".`);
    const held = fleet.holdAt(step);
    await begin();
    const { hold } = await held.until(fleet.epoch);
    await visit(phase, () => hold.release());
    hold.release();
  };
  await heldIn('initialisation', () => fleet.start());
  if (visited('copy')) {
    const copy = await fleet.holdCopy();
    await visit('copy', () => copy.release());
    copy.release();
  }
  await fleet.untilReady();
  if (visited('ddlChanges')) await heldIn('ddlChanges', () => fleet.changes.make('rename'));
  if (visited('apply')) await visit('apply', () => undefined);
  await fleet.untilReady();
  await heldIn('commit', () => fleet.requestCommit());
}
