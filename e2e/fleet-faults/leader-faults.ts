import { expect } from 'vitest';
import type { Random } from '@convoy/cli/demo/random';
import type { FaultyFleet } from './faulty-fleet.js';
import type { Member } from './member.js';
import type { LeaderStep } from './leader-steps.js';
import { type LeaderInStep, type StepHold, within_ms } from './step-hold.js';

/** A fault of a leader in a step. */
export interface LeaderFault {
  /** Ends or stops the leader; it is not back before the next one leads. */
  readonly strike: (fleet: FaultyFleet, inStep: LeaderInStep, step: LeaderStep, random: Random) => Promise<void>;
  /** Brings it, or a replacement, back; resolves once that takes part again. */
  readonly bringBack: (fleet: FaultyFleet, inStep: LeaderInStep, step: LeaderStep, random: Random) => Promise<void>;
}

/**
 * Does something to the leader in each of some steps, one after the other; each time another takes over.
 * @param begin brings the leader on the way to the first of them
 */
export async function strikeLeaderIn(
  fleet: FaultyFleet,
  fault: LeaderFault,
  steps: readonly LeaderStep[],
  random: Random,
  begin = (): Promise<void> => Promise.resolve(),
): Promise<void> {
  const ahead = new StepsAhead(fleet, steps);
  ahead.hold();
  await begin();
  for (const step of steps) {
    const before = fleet.epoch;
    const current = ahead.next();
    if (step.provocation !== undefined && !current.isReached) await fleet.provoke(step.provocation);
    const inStep = await current.until(before);
    ahead.hold();
    const struckAt_ms = performance.now();
    const epoch = fleet.epoch;
    await fault.strike(fleet, inStep, step, random);
    ahead.leaveOut(inStep.leader);
    // Its last command may have ended the migration: then nothing is left to lead.
    await expect
      .poll(async () => fleet.epoch > epoch || ahead.isReached || (await fleet.isOver()), {
        timeout: within_ms,
        message: `the next one leads after "${step.name}"`,
      })
      .toBe(true);
    console.log(
      `${inStep.leader.id} was struck where it ${step.name}; ` +
        `the next one leads after ${Math.round(performance.now() - struckAt_ms)} ms`,
    );
    await fault.bringBack(fleet, inStep, step, random);
  }
}

/**
 * Holds all consecutive steps that a leader reaches by itself: parallel work does not run
 * ahead.
 */
class StepsAhead {
  readonly #holds: StepHold[] = [];
  #done = 0;

  constructor(
    private readonly fleet: FaultyFleet,
    private readonly steps: readonly LeaderStep[],
  ) {}

  /** Holds the next step, and those that follow it by themselves. */
  hold(): void {
    for (let index = this.#holds.length; index < this.steps.length; index += 1) {
      const step = this.steps[index] as LeaderStep;
      if (index > this.#done && step.provocation !== undefined) return;
      this.#holds.push(this.fleet.holdAt(step));
    }
  }

  next(): StepHold {
    this.#done += 1;
    return this.#holds[this.#done - 1] as StepHold;
  }

  /** Whether a leader waits in the next step. */
  get isReached(): boolean {
    return this.#holds[this.#done]?.isReached ?? false;
  }

  leaveOut(gone: Member): void {
    for (const hold of this.#holds.slice(this.#done)) hold.leaveOut(gone);
  }
}
