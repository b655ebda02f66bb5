import { withSources } from './load-sources.mjs';

/**
 * Sends the same random commands to the servers of MONGO_BIN and the simulator's sources.
 * @param {string[]} args `--seed N --steps M --family NAME --record FILE`
 * @returns {Promise<number>} exit code: 1 when something differs, 2 for arguments that are not understood, 3 without
 * MONGO_BIN
 */
export function runDifferential(args) {
  return withSources('/packages/simulator/test/differential/run.ts', (differential) =>
    differential.runDifferential(args),
  );
}
