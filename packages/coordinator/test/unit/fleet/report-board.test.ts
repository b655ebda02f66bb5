import { describe, expect, it } from 'vitest';
import { Watchers } from '@convoy/api/fleet/watchers';
import { ReportBoard } from '../../../src/fleet/report-board.js';
import type { MemberMessage } from '../../../src/fleet/report-message.js';
import { seenReport } from '../director/snapshots.js';

const message = (id: string, step: string | null = null, sequence = 1, incarnation = `${id}-1`): MemberMessage => {
  const { report, reportedAt_ms } = seenReport(id, { step });
  return {
    kind: 'report',
    reportedAt_ms,
    sequence,
    report: { ...report, identity: { ...report.identity, incarnation } },
  };
};

function makeBoard(): {
  board: ReportBoard;
  clock: { monotonic_ms: () => number; now_ms: () => number; at: number };
  reported: () => Promise<number>;
} {
  const clock = { at: 0, monotonic_ms: () => clock.at, now_ms: () => clock.at };
  const watchers = new Watchers();
  let count = 0;
  watchers.add(() => (count += 1));
  const reported = (): Promise<number> =>
    new Promise((resolve) => setImmediate(() => setImmediate(() => resolve(count))));
  return { board: new ReportBoard(1_000, clock, watchers), clock, reported };
}

describe('ReportBoard', () => {
  it('marks a report as stale after the lease, and as fresh again', () => {
    const { board, clock } = makeBoard();
    board.hear(message('a'), 0);
    clock.at = 1_000;
    board.sweep();
    expect(board.reports().get('a')?.fresh).toBe(true);
    clock.at = 1_001;
    board.sweep();
    expect(board.reports().get('a')?.fresh).toBe(false);
    board.hear(message('a'), 1_001);
    expect(board.reports().get('a')?.fresh).toBe(true);
  });

  it('tolerates longer silence of a recently slow process, up to its pace', () => {
    const { board, clock } = makeBoard();
    const at = (at_ms: number): boolean | undefined => {
      for (; clock.at < at_ms; clock.at += 500) board.sweep();
      clock.at = at_ms;
      board.sweep();
      return board.reports().get('a')?.fresh;
    };
    board.hear(message('a'), 0);
    expect(at(3_000)).toBe(false);
    board.alive('a', 3_000);
    expect(at(12_000)).toBe(true);
    expect(at(12_001)).toBe(false);
  });

  it('does not mistake its own stop for the silence of others', () => {
    const { board, clock } = makeBoard();
    for (const [at, id] of ['a', 'b'].entries()) board.hear(message(id), at);
    board.sweep();
    clock.at = 8_000;
    board.sweep();
    expect([...board.reports().values()].map(({ fresh }) => fresh)).toEqual([true, true]);
  });

  it('does not replace a later message by an earlier stored one', () => {
    const { board } = makeBoard();
    board.hear(message('a', 'later', 2), 500);
    board.hear(message('a', 'earlier', 1), 600);
    expect(board.reports().get('a')?.report.step).toBe('later');
    expect(board.heardAt_ms('a')).toBe(600);
    board.hear(message('a', 'of a process before', 9, 'a-0'), 400);
    expect(board.reports().get('a')?.report.step).toBe('later');
    board.hear(message('a', 'of the next process', 1, 'a-2'), 700);
    expect(board.reports().get('a')?.report.step).toBe('of the next process');
  });

  it('tracks live instances without a report, and ignores anything older than a departure', () => {
    const { board, clock } = makeBoard();
    board.alive('unknown', 0);
    expect(board.reports().size).toBe(0);
    board.hear(message('a'), 0);
    clock.at = 5_000;
    board.alive('a', 4_900);
    board.sweep();
    expect(board.reports().get('a')?.fresh).toBe(true);
    board.hear({ kind: 'left', id: 'a', incarnation: 'a-1' }, 5_000);
    board.alive('a', 4_990);
    board.hear(message('a', 'late', 2), 4_995);
    expect(board.reports().get('a')?.fresh).toBe(false);
    board.hear(message('a', null, 1, 'a-2'), 5_100);
    expect(board.reports().get('a')?.fresh).toBe(true);
  });

  it('accepts a departure only from the process that reported', () => {
    const { board } = makeBoard();
    board.hear(message('a'), 0);
    board.hear({ kind: 'left', id: 'a', incarnation: 'another' }, 0);
    expect(board.reports().get('a')?.fresh).toBe(true);
    board.hear({ kind: 'left', id: 'a', incarnation: 'a-1' }, 0);
    expect(board.reports().get('a')?.fresh).toBe(false);
    expect(board.heardAt_ms('a')).toBe(Number.NEGATIVE_INFINITY);
  });

  it('does not notify for a keep-alive', async () => {
    const { board, reported } = makeBoard();
    board.hear(message('a'), 0);
    expect(await reported()).toBe(1);
    board.hear(message('a'), 10);
    expect(await reported()).toBe(1);
    board.hear(message('a', 'news'), 20);
    expect(await reported()).toBe(2);
  });

  it('returns maps that do not change', () => {
    const { board } = makeBoard();
    board.hear(message('a'), 0);
    const before = board.reports();
    board.hear(message('b'), 0);
    expect([...before.keys()]).toEqual(['a']);
    expect([...board.reports().keys()]).toEqual(['a', 'b']);
  });
});
