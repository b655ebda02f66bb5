import type { FaultyFleet } from './faulty-fleet.js';
import { type FaultPhase, type LeaderStep, leaderSteps } from './leader-steps.js';

/** Called while the fleet is held in a phase; `suspend` lets it go on. */
export type Visitor = (phase: FaultPhase, suspend: () => void) => Promise<void>;

/** The steps that hold a fleet in the phases of the leader. */
const heldAt = {
  initialisation: 'makes collections',
  ddlChanges: 'waits for acknowledgements',
  commit: 'waits until all are drained',
} as const;

/** Brings a migration from its start to its commit, and visits it in some of its phases. */
export async function visitPhases(fleet: FaultyFleet, phases: readonly FaultPhase[], visit: Visitor): Promise<void> {
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
