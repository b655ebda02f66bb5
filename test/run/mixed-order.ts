import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of a minute or more. One that began last would keep the whole run waiting beside an idle core. */
export const longest = [
  'e2e/oplog/oplog.test.ts',
  'packages/instance/test/integration/verify/embedded.test.ts',
  'packages/instance/test/integration/source-gone/source-gone.test.ts',
  'packages/instance/test/integration/lifecycle/all-waits.test.ts',
  'e2e/fleet-faults/sample.test.ts',
  'packages/bench/test/integration/screenshots/dashboard-states.test.ts',
  'e2e/late-instance.test.ts',
  'e2e/router-access.test.ts',
];

/**
 * The order of a run: the longest files, then unit tests, which compute, among whole fleets and single instances, which
 * also wait. Without it those of a kind run one after the other, and the waiting ones at the end.
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
  const kinds = new Map<string, File[]>();
  for (const file of rest) {
    const kind = kindOf(pathOf(file));
    kinds.set(kind, [...(kinds.get(kind) ?? []), file]);
  }
  const spread = [...kinds.values()].flatMap((ofKind) =>
    ofKind.map((file, index) => ({ file, at: (index + 0.5) / ofKind.length })),
  );
  return [...first, ...spread.sort((a, b) => a.at - b.at).map(({ file }) => file)];
}

function kindOf(path: string): string {
  return /\be2e\/|\/test\/(?:unit|integration)\//.exec(path)?.[0] ?? '';
}
