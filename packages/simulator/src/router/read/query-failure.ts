import { CommandError } from '../../node/command.js';
import { isStale } from '../target/stale-routing.js';

/** Codes that a find passes on without a preface: the router's own, or those that clients must see unchanged. */
const untouched: ReadonlySet<number> = new Set([43, 18, 13]);

/** Runs a part of a find on shards, with failures in the words of a router. */
export async function asShardQuery<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof CommandError) || untouched.has(error.code) || isStale(error)) throw error;
    const preface = 'Encountered non-retryable error during query :: caused by :: ';
    throw new CommandError(error.code, error.codeName, preface + error.message, error.labels, error.extra);
  }
}
