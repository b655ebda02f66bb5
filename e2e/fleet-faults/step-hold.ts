import { expect } from 'vitest';
import type { Hold } from '../gate/command-gate.js';
import type { LeaderStep } from './leader-steps.js';
import type { Member } from './member.js';

/** A phase of a fleet on a machine under load, with an election before it. */
export const within_ms = 120_000;

/** A leader in a step: what it has sent in it, or waits for, is on its way. */
export interface LeaderInStep {
  readonly leader: Member;
  readonly hold: Pick<Hold, 'release' | 'lose'>;
}

/** The fleet whose leader is held. */
export interface LedFleet {
  readonly members: readonly Member[];
  readonly leader: Member;
  readonly epoch: number;
  /** What the gates hold, as text. */
  readonly held: readonly string[];
}

/** Holds the leader in a step as soon as it reaches it. */
export class StepHold {
  #holds: readonly { readonly member: Member; readonly hold: Hold }[] = [];
  #wasReached = false;

  constructor(
    private readonly fleet: LedFleet,
    private readonly step: LeaderStep,
  ) {
    fleet.members.forEach((member) => this.add(member));
  }

  /** Keeps another member there too, one that has joined since, unless a leader was there already. */
  add(member: Member): void {
    if (this.#wasReached) return;
    this.#holds = [...this.#holds, { member, hold: member.gate.hold(this.step.matches) }];
  }

  /** Releases a replaced leader: what it sends from now on is no step of a leader. */
  remove(former: Member): void {
    if (this.#wasReached) return;
    this.#together(({ member }) => member === former).release();
    this.#holds = this.#holds.filter(({ member }) => member !== former);
  }

  get isReached(): boolean {
    return this.#holds.some(({ hold }) => hold.waiting.length > 0);
  }

  /** @param epochMin of the leader that is meant, if the step does not show who leads */
  async until(epochMin: number): Promise<LeaderInStep> {
    const reached = expect.poll(() => this.#leader(epochMin)?.id, { timeout: within_ms }).toBeDefined();
    await reached.catch((cause: unknown) => {
      throw new Error(
        `No leader has come to "${this.step.name}"; the gates hold: ${this.fleet.held.join(', ') || 'nothing'}.`,
        { cause },
      );
    });
    const leader = this.#leader(epochMin) as Member;
    this.#wasReached = true;
    if (this.step.sender === 'others') return { leader, hold: this.#together(() => true) };
    this.#together(({ member }) => member !== leader).release();
    return { leader, hold: this.#together(({ member }) => member === leader) };
  }

  /** Leaves out a member that is gone, and loses what it has sent. */
  leaveOut(gone: Member): void {
    this.#together(({ member }) => member === gone).lose();
  }

  #leader(epochMin: number): Member | undefined {
    const senders = this.#holds.flatMap(({ member, hold }) => (hold.waiting.length > 0 ? [member] : []));
    if (this.step.sender === undefined || senders.length === 0) return senders[0];
    if (this.fleet.epoch < epochMin) return undefined;
    const { leader } = this.fleet;
    return this.step.sender === 'others' || senders.includes(leader) ? leader : undefined;
  }

  #together(which: (one: { member: Member }) => boolean): Pick<Hold, 'release' | 'lose'> {
    const holds = this.#holds.filter(which).map(({ hold }) => hold);
    return { release: () => holds.forEach((hold) => hold.release()), lose: () => holds.forEach((hold) => hold.lose()) };
  }
}
