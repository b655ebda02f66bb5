import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '@convoy/cli/demo/random';

/** What can be stopped and continued, like a process of a fleet. */
interface Stoppable {
  freeze(): void;
  thaw(): void;
}

/** How long a process runs, and how long it then stops on average, in turn. */
interface CpuFraction {
  readonly runs_ms: number;
  readonly stands_ms: number;
}

/** The load rises over this many stops: a process that stopped briefly is prepared for longer stops. */
const growing = 4;

/**
 * Gives processes a part of their processor, as a machine at many times its load does: each is stopped (SIGSTOP) and
 * continued (SIGCONT) again and again, on its own and irregularly.
 */
export class SlowProcesses implements AsyncDisposable {
  readonly #ending = new AbortController();
  readonly #slowing: readonly Promise<void>[];

  private constructor(processes: readonly Stoppable[], task: CpuFraction, random: Random) {
    this.#slowing = processes.map((process) => this.#slow(process, task, random));
  }

  /** Slows processes down until they are released. */
  static start(processes: readonly Stoppable[], task: CpuFraction, random: Random): SlowProcesses {
    return new SlowProcesses(processes, task, random);
  }

  async #slow(process: Stoppable, { runs_ms, stands_ms }: CpuFraction, random: Random): Promise<void> {
    const { signal } = this.#ending;
    try {
      for (let stand = 1; ; stand += 1) {
        process.freeze();
        await delay(stands_ms * (0.5 + random.next()) * Math.min(1, stand / growing), undefined, { signal });
        process.thaw();
        await delay(runs_ms, undefined, { signal });
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      process.thaw();
    }
  }

  /** Releases all processes. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#slowing);
  }
}
