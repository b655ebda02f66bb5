import { Timestamp } from 'mongodb';
import { expect, it } from 'vitest';
import { isCommitAwaited, isDraining, isStreamAwaited } from '../../../../src/lifecycle/migration/commit-awaited.js';
import type { MigrationView } from '../../../../src/lifecycle/migration/migration-watch.js';
import type { CommitRound, MigrationRecord } from '../../../../src/store/migration-record.js';
import type { ShareRecord } from '../../../../src/store/share-record.js';

type Phase = MigrationRecord['phase'];

const round = (number: number, sealed = false): CommitRound => ({ round: number, time: new Timestamp({ t: 1, i: 1 }), sealed, catalogEpoch: null });

/** A share with a peer that was told nothing. */
function viewOf(phase: Phase, commit: CommitRound | null, commitRequested: boolean, drained: number | null): MigrationView {
  const share = { commitRequested, drained: drained === null ? null : { round: drained, eventsAbove: 0 } } as unknown as ShareRecord;
  const peer = { commitRequested: false, drained: null } as unknown as ShareRecord;
  return { record: { phase, commit } as unknown as MigrationRecord, shares: new Map([['shard0', share], ['shard1', peer]]) };
}

const cases: [string, MigrationView, { commit: boolean; stream: boolean; drains: boolean }][] = [
  ['before the command', viewOf('syncing', null, false, null), { commit: false, stream: false, drains: false }],
  ['from the command on', viewOf('syncing', null, true, null), { commit: true, stream: true, drains: false }],
  ['while writers are stopped', viewOf('committing', null, true, null), { commit: true, stream: true, drains: true }],
  ['with a commit time', viewOf('committing', round(1), true, null), { commit: true, stream: true, drains: true }],
  ['once it is drained', viewOf('committing', round(1), true, 1), { commit: true, stream: true, drains: false }],
  ['with a later commit time', viewOf('committing', round(2), true, 1), { commit: true, stream: true, drains: true }],
  ['once it is sealed', viewOf('committing', round(2, true), true, 2), { commit: true, stream: false, drains: false }],
  ['once the destination is to be opened', viewOf('opening', round(2, true), true, 2), { commit: false, stream: false, drains: false }],
];

it.each(cases)('%s', (_, view, expected) => {
  const found = { commit: isCommitAwaited(view, 'shard0'), stream: isStreamAwaited(view, 'shard0'), drains: isDraining(view, 'shard0') };
  expect(found).toEqual(expected);
});

it('a peer waits for its own command', () => {
  expect(isStreamAwaited(viewOf('syncing', null, true, null), 'shard1')).toBe(false);
});
