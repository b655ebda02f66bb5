import { withSources } from './load-sources.mjs';

/**
 * Plays the recorded corpus against the simulator's sources and prints how much is equal; the last line is
 * `conformance: N of M steps equal`.
 * @param {string[]} args files of the corpus; `--show` prints both outcomes of what differs
 * @returns {Promise<number>} exit code: 1 when fewer steps are equal than are known to be
 */
export function runConformance(args) {
  return withSources('/packages/simulator/test/conformance/run.ts', (conformance) => conformance.runConformance(args));
}
