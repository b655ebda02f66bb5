import type { CommandName } from '@convoy/api/contract/commands';
import type { MigrationState } from '@convoy/api/contract/progress';
import type { CommandResult, Fleet, InstanceIdentity } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { stagedReport } from '../staged-report.js';
import { reportInterval_ms } from '@convoy/instance/lifecycle/progress/large-fleet';
import type { FleetMember } from './fleet-member.js';
import type { Mark } from './member-order.js';

const stateAfter: Readonly<Record<CommandName, MigrationState>> = {
  start: 'RUNNING',
  pause: 'PAUSED',
  resume: 'RUNNING',
  commit: 'COMMITTED',
  reverse: 'RUNNING',
};

/** A member of a fleet that syncs nothing: it takes commands at once, and reports a copy while it runs. */
export class StagedMember implements FleetMember {
  readonly #timer: NodeJS.Timeout;
  #state: MigrationState = 'IDLE';
  #step = 0;

  constructor(
    private readonly fleet: Fleet,
    private readonly identity: InstanceIdentity,
    private readonly allIds: readonly string[],
  ) {
    fleet.serve(({ name }) => this.#take(name));
    this.#report();
    this.#timer = setInterval(() => this.#tick(), reportInterval_ms(allIds.length));
  }

  get leads(): boolean {
    return this.fleet.isLeader();
  }

  mark(): Mark {
    this.#step += 1_000;
    const { identity } = this;
    return { id: identity.id, totalEventsApplied: this.#report(), at_ms: Date.now() };
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.fleet.leave();
  }

  #take(name: CommandName): Promise<CommandResult> {
    this.#state = stateAfter[name];
    this.#report();
    return Promise.resolve({ success: true });
  }

  #tick(): void {
    if (this.#state !== 'RUNNING') return;
    this.#step += 1;
    this.#report();
  }

  /** @returns the reported number of events */
  #report(): number {
    const { identity, allIds } = this;
    const report =
      this.#state === 'IDLE'
        ? idleReport(identity)
        : stagedReport(
            { identity, ids: allIds, at: allIds.indexOf(identity.id), leads: this.leads },
            this.#step,
            this.#state,
          );
    this.fleet.report(report);
    return report.progress.totalEventsApplied ?? 0;
  }
}
