import { expect, it } from 'vitest';
import type { Warning } from '@convoy/api/contract/progress';
import {
  heldWarning,
  isCommitAwaited,
  isCommitJustRequested,
  isDraining,
  isStreamAwaited,
  type MigrationView,
} from '../../../src/store/migration-view.js';
import type { CommitRound, MigrationRecord } from '../../../src/store/migration-record.js';
import type { TaskRecord } from '../../../src/store/task-record.js';
import { roundWith, viewWith } from '../model/migration-state.js';

type Phase = MigrationRecord['phase'];

const round = (number: number, sealed = false): CommitRound => roundWith({ round: number, sealed });

/** A task and a peer. */
function viewOf(
  phase: Phase,
  commit: CommitRound | null,
  reported: readonly string[],
  drained: number | null,
  warnings: Warning[] = [],
): MigrationView {
  const taskIds = ['shard0', 'shard1'];
  return viewWith(
    { phase, commit, taskIds, warnings },
    taskIds.map((id) => ({
      commitRequested: reported.includes(id),
      drained: drained === null ? null : { round: drained, eventsAbove: 0 },
    })),
  );
}

const all = ['shard0', 'shard1'];
const cases: [string, MigrationView, { commit: boolean; stream: boolean; drains: boolean }][] = [
  ['before the command', viewOf('syncing', null, [], null), { commit: false, stream: false, drains: false }],
  [
    'while a peer has not taken it',
    viewOf('syncing', null, ['shard0'], null),
    { commit: false, stream: false, drains: false },
  ],
  [
    'from the command to the last task',
    viewOf('syncing', null, all, null),
    { commit: true, stream: true, drains: false },
  ],
  [
    'while writers are being stopped',
    viewOf('committing', null, all, null),
    { commit: true, stream: true, drains: true },
  ],
  ['with a commit time', viewOf('committing', round(1), all, null), { commit: true, stream: true, drains: true }],
  ['once it is drained', viewOf('committing', round(1), all, 1), { commit: true, stream: true, drains: false }],
  ['with a later commit time', viewOf('committing', round(2), all, 1), { commit: true, stream: true, drains: true }],
  ['once it is sealed', viewOf('committing', round(2, true), all, 2), { commit: true, stream: false, drains: false }],
  [
    'while duplicates hold it',
    viewOf('committing', round(2, true), all, 2, [{ name: heldWarning, description: '' }]),
    { commit: false, stream: false, drains: false },
  ],
  [
    'once the destination is about to open',
    viewOf('opening', round(2, true), all, 2),
    { commit: false, stream: false, drains: false },
  ],
];

it.each(cases)('%s', (_, view, expected) => {
  const found = { commit: isCommitAwaited(view), stream: isStreamAwaited(view), drains: isDraining(view, 'shard0') };
  expect(found).toEqual(expected);
});

it('a commit that one instance took long ago is not the command that another one has now', () => {
  const isJustRequested = (task: Partial<TaskRecord>): boolean =>
    isCommitJustRequested(viewWith({}, [{ _id: 'shard0' }, { _id: 'shard1', ...task }]), 3_600_000);
  const requestedAt = (ms: number) => ({ commitRequested: true, requestedAt: new Date(ms) });
  expect([
    isJustRequested({}),
    isJustRequested(requestedAt(3_540_000)),
    isJustRequested(requestedAt(3_539_999)),
    isJustRequested({ commitRequested: true }),
    isJustRequested({ ...requestedAt(3_540_000), commitRequested: false }),
  ]).toEqual([false, true, false, false, false]);
});
