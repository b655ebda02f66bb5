import type { Clock } from '../../cluster/clock.js';
import type { MigrationWatch } from '../migration/migration-watch.js';

/** When nothing was to be done for so long, it is looked less often how far the source is. */
const idle_ms = 10_000;

/** Tells whether something that is looked at again and again has been the same for long. */
export class IdleDetector {
  #seen: string | null = null;
  #since_ms = 0;

  /** @param after_ms how long it has to be the same */
  constructor(
    private readonly clock: Clock,
    private readonly after_ms: number,
  ) {}

  /** @param seen as it is now */
  isIdle(seen: string): boolean {
    const now_ms = this.clock.monotonic_ms();
    if (seen !== this.#seen) [this.#seen, this.#since_ms] = [seen, now_ms];
    return now_ms - this.#since_ms >= this.after_ms;
  }
}

/** Tells whether no share of a migration has had anything to do for long, as far as their records tell. */
export class IdleTasks {
  readonly #idle: IdleDetector;

  constructor(
    private readonly watch: Pick<MigrationWatch, 'view'>,
    clock: Clock,
  ) {
    this.#idle = new IdleDetector(clock, idle_ms);
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
