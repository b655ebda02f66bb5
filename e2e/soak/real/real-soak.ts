import { availableParallelism } from 'node:os';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import type { SoakOptions } from '../soak.js';
import { RealClusters } from './real-clusters.js';
import { realHistoryOf } from './real-history.js';
import { runRealHistory } from './run-real-history.js';

/** What a history leaves in the servers' catalogs and histories is not to be met by too many others. */
const historiesOfClusters = 20;

/**
 * Plays histories with processes on servers, one for each processor at a time, until the time or the number is reached,
 * and prints how many have passed.
 * @returns exit code: 0 when all have passed
 */
export async function realSoak(options: SoakOptions): Promise<number> {
  const run = new RealSoak(options);
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), options.historiesMax) }, () => run.play()));
  return run.failed.length === 0 && run.passed > 0 ? 0 : 1;
}

class RealSoak {
  passed = 0;
  /** Moves of chunks and databases that the servers have taken. */
  #moves = 0;
  readonly failed: number[] = [];
  #given = 0;
  readonly #started_ms = performance.now();

  constructor(private readonly options: SoakOptions) {}

  /** Plays one history after the other, on new clusters from time to time. */
  async play(): Promise<void> {
    while (this.#goesOn()) {
      using folder = ScratchFolder.create('soak');
      await using clusters = await RealClusters.start(folder, this.options, this.options.members);
      if (this.options.timeSeries && !clusters.takesSeries)
        throw new Error('Time series are migrated from sources of 6.0 on: leave out --time-series.');
      for (let played = 0; played < historiesOfClusters && this.#goesOn(); played += 1) {
        if (!(await this.#playNext(clusters))) break;
      }
    }
  }

  #goesOn(): boolean {
    const { historiesMax, limit_ms, keepsGoing } = this.options;
    return (
      this.#given < historiesMax &&
      performance.now() - this.#started_ms < limit_ms &&
      (keepsGoing || this.failed.length === 0)
    );
  }

  /** @returns whether it has passed, and the clusters can be used again */
  async #playNext(clusters: RealClusters): Promise<boolean> {
    const { seed: first, ddlChanges, moves, toReplicaSet, timeSeries, path } = this.options;
    const seed = first + this.#given;
    this.#given += 1;
    const started_ms = performance.now();
    try {
      const choice = { seed, ddlChanges, moves, toReplicaSet, timeSeries, path };
      // Histories run at the same time: the sum is read after the wait.
      const taken = await runRealHistory(realHistoryOf(choice, clusters.takesSeries), clusters);
      this.#moves += taken;
      await clusters.clear();
      this.passed += 1;
    } catch (error) {
      this.failed.push(seed);
      console.log(
        `seed ${seed} failed on ${clusters.source.backend} ${clusters.source.version.join('.')}: ${String(error)}`,
      );
    }
    const seconds = ((performance.now() - started_ms) / 1000).toFixed(1);
    const names = this.failed.length === 0 ? '' : ` (seeds ${this.failed.join(', ')})`;
    const made = moves ? `, ${this.#moves} moves taken` : '';
    console.log(
      `seed ${seed}: ${seconds} s; ${this.passed} histories passed, ${this.failed.length} failed${names}${made}`,
    );
    return this.failed.at(-1) !== seed;
  }
}
