import { availableParallelism } from 'node:os';
import { type Batch, playBatch, type Played } from './batch.js';

export interface SoakOptions extends Omit<Batch, 'histories'> {
  readonly historiesMax: number;
  /** Of each replica set of real servers. */
  readonly members: number;
}

/** A history leaks a few MB: a process grows by some hundred. */
const batchHistories = 25;

/**
 * Plays histories until the time or the number is reached, in a process for each processor, and prints how many have
 * passed.
 * @returns exit code: 0 when all have passed
 */
export async function soak(options: SoakOptions): Promise<number> {
  console.log(`histories from seed ${options.seed} on`);
  const run = new SoakRun(options);
  await Promise.all(Array.from({ length: availableParallelism() }, () => run.play()));
  return run.failed.length === 0 && run.passed > 0 ? 0 : 1;
}

/** One count over all that play. */
class SoakRun {
  passed = 0;
  readonly failed: number[] = [];
  #simulated_ms = 0;
  #given = 0;
  readonly #started_ms = performance.now();

  constructor(private readonly options: SoakOptions) {}

  /** Plays the next batch, and the next after it. */
  async play(): Promise<void> {
    const { historiesMax, limit_ms, ...batch } = this.options;
    for (;;) {
      const left_ms = limit_ms - (performance.now() - this.#started_ms);
      const histories = Math.min(batchHistories, historiesMax - this.#given);
      if (left_ms <= 0 || histories <= 0 || (this.failed.length > 0 && !batch.keepsGoing)) return;
      const seed = batch.seed + this.#given;
      this.#given += histories;
      this.#count(await playBatch({ ...batch, seed, histories, limit_ms: left_ms }));
    }
  }

  #count(played: readonly Played[]): void {
    for (const history of played) {
      if (history.simulated_ms === null) this.failed.push(history.seed);
      else {
        this.passed += 1;
        this.#simulated_ms += history.simulated_ms;
      }
    }
    const seconds = ((performance.now() - this.#started_ms) / 1000).toFixed(0);
    const names = this.failed.length === 0 ? '' : ` (seeds ${this.failed.slice(0, 20).join(', ')})`;
    console.log(
      `${this.passed} histories passed, ${this.failed.length} failed${names}; ` +
        `${(this.#simulated_ms / 3_600_000).toFixed(1)} simulated hours in ${seconds} s`,
    );
  }
}
