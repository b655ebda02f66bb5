import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PeriodicTask } from '../../../src/time/periodic-task.js';
import { settleWithin } from '../../../src/time/settle-within.js';

describe('PeriodicTask', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('runs immediately, then after each pause, until stopped', async () => {
    let runs = 0;
    const task = new PeriodicTask(100, () => {
      runs += 1;
      return Promise.resolve();
    });
    task.start();
    await vi.advanceTimersByTimeAsync(250);
    expect(runs).toBe(3);
    await task.stop();
    task.runSoon();
    await vi.advanceTimersByTimeAsync(500);
    expect(runs).toBe(3);
  });

  it('never runs concurrently, and once more on a request during a run', async () => {
    let running = 0;
    let runs = 0;
    const task = new PeriodicTask(1_000, async () => {
      running += 1;
      expect(running).toBe(1);
      runs += 1;
      await vi.advanceTimersByTimeAsync(0);
      await Promise.resolve();
      running -= 1;
    });
    task.start();
    task.runSoon();
    task.runSoon();
    await vi.advanceTimersByTimeAsync(10);
    expect(runs).toBe(2);
    await task.stop();
  });
});

describe('settleWithin', () => {
  it('waits for promises that settle, and not for others', async () => {
    const ended: string[] = [];
    const soon = Promise.reject(new Error('fails')).finally(() => ended.push('soon'));
    await settleWithin([soon], 10_000);
    expect(ended).toEqual(['soon']);
    await settleWithin([new Promise(() => undefined)], 5);
  });
});
