import { describe, expect, it } from 'vitest';
import { Watchers } from '@convoy/api/fleet/watchers';
import { ReportBoard } from '../../../src/membership/report-board.js';
import type { MemberMessage } from '../../../src/membership/report-message.js';
import { seenReport } from '../progress/snapshots.js';

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
  it('marks a report as old after the lease, and as fresh again', () => {
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

  it('lets who was slow of late be silent for longer, and no longer than that', () => {
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

  it('does not take its own standing still for the silence of others', () => {
    const { board, clock } = makeBoard();
    for (const [at, id] of ['a', 'b'].entries()) board.hear(message(id), at);
    board.sweep();
    clock.at = 8_000;
    board.sweep();
    expect([...board.reports().values()].map(({ fresh }) => fresh)).toEqual([true, true]);
  });

  it('does not let what was stored earlier replace what was heard later', () => {
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

  it('knows who lives without a report, and believes nothing that is older than a departure', () => {
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

  it('takes a departure from the process that reported, not from one before it', () => {
    const { board } = makeBoard();
    board.hear(message('a'), 0);
    board.hear({ kind: 'left', id: 'a', incarnation: 'another' }, 0);
    expect(board.reports().get('a')?.fresh).toBe(true);
    board.hear({ kind: 'left', id: 'a', incarnation: 'a-1' }, 0);
    expect(board.reports().get('a')?.fresh).toBe(false);
    expect(board.heardAt_ms('a')).toBe(Number.NEGATIVE_INFINITY);
  });

  it('wakes nobody for a keep-alive', async () => {
    const { board, reported } = makeBoard();
    board.hear(message('a'), 0);
    expect(await reported()).toBe(1);
    board.hear(message('a'), 10);
    expect(await reported()).toBe(1);
    board.hear(message('a', 'news'), 20);
    expect(await reported()).toBe(2);
  });

  it('gives out maps that do not change', () => {
    const { board } = makeBoard();
    board.hear(message('a'), 0);
    const before = board.reports();
    board.hear(message('b'), 0);
    expect([...before.keys()]).toEqual(['a']);
    expect([...board.reports().keys()]).toEqual(['a', 'b']);
  });
});
