import type { Clock } from '../../async/clock.js';
import type { StreamPatience } from '../../store/stream-patience.js';
import { isStreamAwaited } from '../migration/commit-awaited.js';
import type { MigrationWatch } from '../migration/migration-watch.js';

/** After this long without work, the leader checks the source's position less often. */
const idle_ms = 10_000;

/** Detects that a value, observed repeatedly, has not changed for some time. */
export class IdleDetector {
  #seen: string | null = null;
  #since_ms = 0;

  /** @param after_ms how long it has to be unchanged */
  constructor(
    private readonly clock: Clock,
    private readonly after_ms: number,
  ) {}

  /** @param seen the present value */
  isIdle(seen: string): boolean {
    const now_ms = this.clock.monotonic_ms();
    if (seen !== this.#seen) [this.#seen, this.#since_ms] = [seen, now_ms];
    return now_ms - this.#since_ms >= this.after_ms;
  }
}

/** Detects, from the tasks' records, that no task has had work for some time, or that a commit waits for them. */
export class IdleTasks implements StreamPatience {
  readonly #idle: IdleDetector;

  constructor(
    private readonly watch: MigrationWatch,
    clock: Clock,
  ) {
    this.#idle = new IdleDetector(clock, idle_ms);
  }

  isAwaited(): boolean {
    return isStreamAwaited(this.watch.view);
  }

  isIdle(): boolean {
    const { record, tasks } = this.watch.view;
    const stats = [...tasks.values()].flatMap(({ eventsApplied, copied, copyDone, commitRequested }) => [
      eventsApplied,
      copied.bytes,
      copyDone,
      commitRequested,
    ]);
    return this.#idle.isIdle([record.phase, record.ddlChanges.known, ...stats].join()) && record.phase === 'syncing';
  }
}
