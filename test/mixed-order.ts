import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of a minute or more. One that began last would keep the whole run waiting beside an idle core. */
export const longest = [
  'e2e/oplog/oplog.test.ts',
  'packages/instance/test/integration/verify/embedded.test.ts',
  'packages/instance/test/integration/source-gone/source-gone.test.ts',
  'e2e/fleet-faults/sample.test.ts',
  'e2e/dashboard-states.test.ts',
  'e2e/late-instance.test.ts',
  'e2e/router-access.test.ts',
];

/**
 * The order of a run: the longest files, then whole fleets, which compute, among single instances, which mostly wait.
 * Without it fleets run one after the other on the same cores, and the waiting ones at the end.
 */
export class MixedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return mixed(await super.sort(files), ({ moduleId }) => moduleId);
  }
}

/** @param pathOf a file's path; what comes before the repository's folder does not matter */
export function mixed<File>(files: readonly File[], pathOf: (file: File) => string): File[] {
  const placeOf = (file: File): number => longest.findIndex((path) => pathOf(file).endsWith(path));
  const first = files.filter((file) => placeOf(file) >= 0).sort((a, b) => placeOf(a) - placeOf(b));
  const rest = files.filter((file) => placeOf(file) < 0);
  const fleets = rest.filter((file) => pathOf(file).includes('e2e/'));
  const others = rest.filter((file) => !fleets.includes(file));
  const each = Math.ceil(others.length / (fleets.length + 1));
  const spread = fleets.flatMap((fleet, index) => [fleet, ...others.slice(index * each, (index + 1) * each)]);
  return [...first, ...spread, ...others.slice(fleets.length * each)];
}
