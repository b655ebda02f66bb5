import { withSources } from './load-sources.mjs';

/**
 * Takes the handling of each hazard out of a copy of the sources and checks that a test notices.
 * @param {string[]} args `--only 3,12`, `--part 2/6`, `--document`
 * @returns {Promise<number>} exit code: 0 when every sabotage was noticed
 */
export function runSabotage(args) {
  return withSources('/test/sabotage/run.ts', (sabotage) => sabotage.runSabotage(args));
}
