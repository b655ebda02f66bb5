import fc from 'fast-check';
import { type HistoryChoice, historyOf, histories, parametersOf } from './history.js';
import { type HistoryStats, runHistory } from './run-history.js';
import type { SoakLog } from './soak-instance.js';

/** How histories are played. */
export interface PlayOptions {
  /** Prints the log of the instances. */
  readonly verbose: boolean;
  /** Looks for a smaller history that fails, too. */
  readonly shrinks: boolean;
}

/** A history that takes longer than this in real time is named with its stats. */
const slow_ms = 10_000;
/** So long at most a smaller history is looked for; one that is running is let run. */
const shrinking_ms = 300_000;
const errorsKept = 5;

/**
 * Plays one history; what fails is printed with the log's last errors, and as small as it could be made.
 * @returns null when it has failed
 */
export async function playHistory(
  choice: HistoryChoice,
  { verbose, shrinks }: PlayOptions,
): Promise<HistoryStats | null> {
  const started_ms = performance.now();
  const errors = new LastErrors();
  try {
    const stats = await runHistory(
      historyOf(choice),
      verbose ? { verbosity: 'DEBUG', write: (line) => console.log(line) } : errors,
    );
    const took_ms = performance.now() - started_ms;
    if (verbose || took_ms > slow_ms)
      console.log(
        `seed ${choice.seed}: ${(stats.simulated_ms / 1000).toFixed(0)} s, ${stats.steps} steps ` +
          `in ${took_ms.toFixed(0)} ms`,
      );
    return stats;
  } catch (error) {
    console.log(
      `seed ${choice.seed} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
    for (const line of errors.lines) console.log(`  ${line}`);
    if (shrinks) await shrink(choice);
    return null;
  }
}

/** The last errors that the instances have logged. */
class LastErrors implements SoakLog {
  readonly verbosity = 'ERROR';
  readonly lines: string[] = [];

  write(line: string): void {
    if (!line.includes('"level":"error"')) return;
    this.lines.push(line);
    if (this.lines.length > errorsKept) this.lines.shift();
  }
}

/** Looks for the smallest history that still fails, and prints it with the arguments that play it again. */
async function shrink(choice: HistoryChoice): Promise<void> {
  const until_ms = performance.now() + shrinking_ms;
  let tried = 0;
  const property = fc.asyncProperty(histories(choice), async (history) => {
    if (performance.now() > until_ms) return;
    tried += 1;
    await runHistory(history, new LastErrors());
  });
  const { counterexample, counterexamplePath, errorInstance } = await fc.check(property, {
    ...parametersOf(choice),
    numRuns: 1,
  });
  if (counterexamplePath === null) {
    console.log(`seed ${choice.seed} has not failed a second time`);
    return;
  }
  const [history] = counterexample;
  console.log(
    `smallest of ${tried} histories that were tried: ${history.actions.length} actions, ` +
      `${history.incidents.length + history.incidentsAtCommit.length} incidents; it fails with: ` +
      (errorInstance instanceof Error ? errorInstance.message : String(errorInstance)),
  );
  console.log(JSON.stringify(history, null, 1));
  const ddlChanges = choice.ddlChanges === null ? '' : ` --ddlChanges ${choice.ddlChanges ? 'yes' : 'no'}`;
  const flags = [
    choice.moves ? ' --moves' : '',
    choice.toReplicaSet ? ' --to-replica-set' : '',
    choice.timeSeries ? ' --time-series' : '',
  ];
  const kind = `${ddlChanges}${flags.join('')}`;
  console.log(`played again by: npm run soak -- --seed ${choice.seed}${kind} --path ${counterexamplePath}`);
}
