import { expect, test } from 'vitest';
import { summaryLines, type DemoStats } from '@convoy/cli/demo/summary';

const workload = { inserts: 1_655, updates: 2, replacements: 3, deletes: 4 };
const stats: DemoStats = {
  setUp_seconds: 1,
  loading_seconds: 1,
  copy_seconds: 2,
  apply_seconds: 3,
  cutOver_seconds: 4,
  comparing_seconds: 1,
  migration: { copiedBytes: 2_000_000, eventsApplied: 10, lagMax_seconds: 5 },
  workload: undefined,
  reverse: undefined,
  comparison: { equal: true, collections: 1, documents: 5, bytes: 100, differences: [] },
};
const names = (lines: readonly string[]): (string | undefined)[] => lines.map((line) => line.trim().split(' ')[0]);

test('the summary of a demo has a line for the way back, where there was one', () => {
  expect(names(summaryLines(stats))).toEqual(['set-up', 'loading', 'copy', 'change', 'cut-over', 'compared']);
  const reverse = { replay_seconds: 3.46, cutOver_seconds: 1.4, workload };
  expect(summaryLines({ ...stats, reverse })).toContain(
    '  reverse        3.5 s until ready to commit, cut-over 1.4 s back to the first cluster; meanwhile ' +
      '1,655 inserts, 2 updates, 3 replacements, 4 deletes',
  );
});
