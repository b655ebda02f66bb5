import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { HistoryKind } from './history.js';

/** The histories of one process. */
export interface Batch extends HistoryKind {
  /** Seed of the first history; the next ones count up from it. */
  readonly seed: number;
  readonly histories: number;
  /** No history begins after so much time. */
  readonly limit_ms: number;
  /** Goes on after a failure. */
  readonly keepsGoing: boolean;
  /** As in `HistoryChoice`. */
  readonly path: string | null;
  readonly verbose: boolean;
}

/** A history that was played. */
export interface Played {
  readonly seed: number;
  /** How long it took on the source's clock; null when it has failed. */
  readonly simulated_ms: number | null;
}

/** A history takes seconds, on a machine under load tens of them, and a failed one minutes until it is made small. */
const silence_ms = 900_000;

/**
 * Plays histories in a process of their own: instances that are killed in one never end, so what they hold is only
 * given back with the process. What is said there is printed here.
 * @returns what was played; a history at which the process ended, or got stuck, has failed
 */
export async function playBatch(batch: Batch): Promise<Played[]> {
  const child = fork(fileURLToPath(new URL('batch-process.js', import.meta.url)), [JSON.stringify(batch)]);
  const played: Played[] = [];
  const stuck = (): void => {
    console.log(`seed ${batch.seed + played.length} gets stuck: nothing was heard for ${silence_ms / 1000} s`);
    child.kill('SIGKILL');
  };
  let limit = setTimeout(stuck, silence_ms);
  child.on('message', (message) => {
    played.push(message as Played);
    clearTimeout(limit);
    limit = setTimeout(stuck, silence_ms);
  });
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearTimeout(limit);
  if (code !== 0) {
    console.log(`the process ended with ${code ?? signal} in the history of seed ${batch.seed + played.length}`);
    played.push({ seed: batch.seed + played.length, simulated_ms: null });
  }
  return played;
}
