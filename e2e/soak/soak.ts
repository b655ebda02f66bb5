import { type Batch, playBatch } from './batch.js';

export interface SoakOptions extends Omit<Batch, 'histories'> {
  readonly historiesMax: number;
}

/** What a history leaves behind is a few MB: a process grows by some hundred. */
const batchHistories = 50;

/**
 * Plays histories until the time or the number is reached, and prints how many have passed.
 * @returns exit code: 0 when all have passed
 */
export async function soak({ historiesMax, ...options }: SoakOptions): Promise<number> {
  const begun_ms = performance.now();
  let passed = 0;
  let simulated_ms = 0;
  const failed: number[] = [];
  console.log(`histories from seed ${options.seed} on`);
  while (passed + failed.length < historiesMax && (options.keepsGoing || failed.length === 0)) {
    const left_ms = options.limit_ms - (performance.now() - begun_ms);
    if (left_ms <= 0) break;
    const done = passed + failed.length;
    const played = await playBatch({ ...options, seed: options.seed + done, histories: Math.min(batchHistories, historiesMax - done), limit_ms: left_ms });
    for (const history of played) {
      if (history.simulated_ms === null) failed.push(history.seed);
      else {
        passed += 1;
        simulated_ms += history.simulated_ms;
      }
    }
    printFigures(passed, failed, simulated_ms, begun_ms);
  }
  return failed.length === 0 && passed > 0 ? 0 : 1;
}

function printFigures(passed: number, failed: readonly number[], simulated_ms: number, begun_ms: number): void {
  const seconds = ((performance.now() - begun_ms) / 1000).toFixed(0);
  const names = failed.length === 0 ? '' : ` (seeds ${failed.slice(0, 20).join(', ')})`;
  console.log(`${passed} histories passed, ${failed.length} failed${names}; ${(simulated_ms / 3_600_000).toFixed(1)} simulated hours in ${seconds} s`);
}
