import { describe, expect, test } from 'vitest';
import { idleFleetProgress, type FleetInstance, type FleetProgress } from '@convoy/api/contract/fleet-progress';
import { idleProgress } from '@convoy/api/contract/progress';
import { clockText } from '@convoy/coordinator/dashboard/views/quantity';
import { LiveView } from '@convoy/cli/progress-view/live-view';
import { progressBlock, progressLine } from '@convoy/cli/progress-view/progress-lines';

const instance: FleetInstance = {
  id: 'shard0',
  syncID: 'a',
  release: '2.0.0',
  problems: [],
  reachable: true,
  secondsSinceHeartbeat: 0,
  state: 'RUNNING',
  canCommit: false,
  info: 'collection copy',
  lagTimeSeconds: 2,
  totalEventsApplied: 1_000,
  eventsPerSecond: 50,
  estimatedCopiedBytes: 25_000_000,
  copyBytesPerSecond: 9_000_000,
  error: null,
  errorDescription: null,
};

const copying: FleetProgress = {
  ...idleFleetProgress(),
  state: 'RUNNING',
  info: 'collection copy',
  lagTimeSeconds: 3,
  totalEventsApplied: 1_500,
  collectionCopy: { estimatedCopiedBytes: 50_000_000, estimatedTotalBytes: 200_000_000 },
  percent: 25,
  copyBytesPerSecond: 18_000_000,
  eventsPerSecond: 70,
  secondsRemaining: 9,
  instances: [instance, { ...instance, id: 'shard1', reachable: false }],
  warnings: [{ name: 'waitingForInstances', description: 'One is missing.' }],
};

describe('one line', () => {
  test('of a fleet that copies', () => {
    expect(progressLine(copying)).toBe(
      'RUNNING · collection copy · 25.0 % · 50.0 MB of 200 MB · 18.0 MB/s · 1,500 events (70/s) · lag 3 s · ' +
        'warning waitingForInstances',
    );
  });

  test('has the time left and the estimated end of the copy, and says that a migration is cleaned up', () => {
    expect(progressLine({ ...copying, copyEndsAt: '2026-01-31T12:00:00.000Z' })).toMatch(
      /MB of 200 MB · 9 s left, until about \d\d:\d\d · 18/,
    );
    const committed: FleetProgress = { ...copying, state: 'COMMITTED', metadataRemoved: true };
    expect(progressLine(committed)).toContain(' · cleaned up');
    expect(progressBlock(committed)[1]).toBe('cleaned up: the metadata is removed from the destination');
    expect(progressBlock({ ...committed, metadataRemoved: false })[1]).toContain('25.0 %');
  });

  test('in IDLE is only the state', () => expect(progressLine(idleProgress())).toBe('IDLE'));
});

describe('a block', () => {
  test('of a fleet has a bar, a line for each instance and the warnings', () => {
    expect(progressBlock(copying)).toEqual([
      'RUNNING · collection copy · 18.0 MB/s · 1,500 events (70/s) · lag 3 s',
      '[##########------------------------------] 25.0 % (50.0 MB of 200 MB, 9 s left)',
      '! waitingForInstances: One is missing.',
      '  shard0  RUNNING  25.0 MB  9.00 MB/s  1,000 events (50/s)  lag 2 s',
      '  shard1  no heartbeat  25.0 MB  9.00 MB/s  1,000 events (50/s)  lag 2 s',
    ]);
  });

  test('shows no size before it is known, and why a commit is not offered only once', () => {
    const preparing = {
      ...copying,
      info: 'initializing',
      collectionCopy: { estimatedTotalBytes: 1, estimatedCopiedBytes: 0 },
    };
    expect(progressBlock(preparing).join()).not.toContain('1 B');
    expect(progressLine(preparing)).not.toContain('1 B');
    const blocker = { instance: 'shard0', reason: 'lag' as const, value: 40, limit: 30, description: 'it lags' };
    const warnings = [{ name: 'commitNotOffered', description: 'shard0: it lags.' }];
    const block = progressBlock({ ...copying, commitBlockers: [blocker], warnings });
    expect(block.filter((line) => line.includes('it lags'))).toEqual(['no commit yet: shard0: it lags']);
  });

  test('says which step a commit is in, and since when', () => {
    const description = 'The leader opens the destination to writes.';
    const since = '2026-01-31T12:00:00.000Z';
    const currentStep = { name: 'openDestination' as const, number: 8, count: 9, description, since };
    const committing: FleetProgress = { ...copying, state: 'COMMITTING', currentStep };
    expect(progressBlock(committing)[1]).toBe(`Step 8 of 9, since ${clockText(Date.parse(since))}: ${description}`);
    expect(progressLine(committing)).toContain(` · step 8 of 9: ${description} · `);
  });

  test('says who writes to the source, and when the migration started', () => {
    const sourceWrites = {
      windowSeconds: 10,
      writes: 12,
      namespaces: [{ namespace: 'shop.a', writes: 12 }],
      lastWriteAt: null,
    };
    const lines = progressBlock({ ...copying, sourceWrites, startedAt: new Date().toISOString() });
    expect(lines).toContain('12 writes to the source in the last 10 s: shop.a 12.');
    expect(lines.join()).toMatch(/started .* ago/);
  });

  test('has the verdict of the verifier as a sentence', () => {
    const side = {
      estimatedDocumentCount: 449_018,
      hashedDocumentCount: 449_018,
      lagTimeSeconds: 0,
      phase: 'stream hashing',
      scannedCollectionCount: 1,
      totalCollectionCount: 1,
    } as const;
    const committed: FleetProgress = {
      ...copying,
      state: 'COMMITTED',
      verification: { source: side, destination: side },
    };
    expect(progressBlock(committed)).toContain('Verified: 449,018 documents compared, 0 mismatches.');
    const ofOne = { ...committed, instances: null };
    expect(progressBlock(ofOne)).toContain(
      'By this instance alone: Verified: 449,018 documents compared, 0 mismatches.',
    );
  });

  test('names the blockers of a commit after the copy', () => {
    const blocker = {
      instance: 'shard1',
      reason: 'verifierLag',
      value: 111,
      limit: 30,
      description: 'the verifier is 111 s behind (limit 30 s)',
    } as const;
    const waiting: FleetProgress = { ...copying, warnings: [], commitBlockers: [blocker] };
    expect(progressBlock(waiting)).toContain('no commit yet: shard1: the verifier is 111 s behind (limit 30 s)');
    const copy = {
      instance: 'shard0',
      reason: 'copying',
      value: null,
      limit: null,
      description: 'collections are still being copied',
    } as const;
    expect(progressBlock({ ...waiting, commitBlockers: [copy, blocker] }).join()).not.toContain('no commit yet');
    const missing = { ...copy, instance: 'shard2', reason: 'missing', description: 'it has never registered' } as const;
    expect(progressBlock({ ...waiting, commitBlockers: [copy, missing] })).toContain(
      'no commit yet: shard2: it has never registered',
    );
  });

  test('of a lone instance shows its own part of the total', () => {
    expect(progressBlock({ ...copying, instances: null, percent: null })[1]).toContain('25.0 %');
  });
});

describe('the live view', () => {
  const output = (isTTY: boolean) => {
    const written: string[] = [];
    return { written, isTTY, columns: 60, write: (text: string | Uint8Array) => written.push(String(text)) > 0 };
  };

  test('redraws in a terminal, within its width', () => {
    const terminal = output(true);
    const view = new LiveView(terminal);
    view.show(copying);
    view.show(copying);
    expect(terminal.written[0]).not.toContain('A');
    expect(terminal.written[1]?.startsWith('\u001b[9A')).toBe(true);
    const visible = (terminal.written[0] ?? '').split('\n').map((line) => line.replace('\u001b[2K', ''));
    expect(visible.every((line) => line.length < 60)).toBe(true);
  });

  test('writes lines elsewhere, and none without news', () => {
    const pipe = output(false);
    const view = new LiveView(pipe);
    view.show(copying);
    view.show(copying);
    expect(pipe.written).toEqual([`${progressLine(copying)}\n`]);
  });
});
