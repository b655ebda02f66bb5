import { describe, expect, it } from 'vitest';
import { ApplyWatermark } from '../../../src/store/task-record.js';
import { ByteBudget, Condition } from '../../../src/async/waiting.js';
import { runTogether } from '../../../src/async/together.js';
import { never, settled } from '../model/parts.js';

describe('the apply watermark', () => {
  it('is durable before its waiters continue, and one write covers what the stream has read', async () => {
    const saves: { time: bigint; done: () => void }[] = [];
    const applyWatermark = new ApplyWatermark(
      10n,
      (time) => new Promise((resolve) => saves.push({ time, done: resolve })),
      () => 50n,
    );
    const covered: bigint[] = [];
    for (const time of [10n, 20n, 30n]) void applyWatermark.cover(time).then(() => covered.push(time));
    await settled();
    expect([covered, saves.map(({ time }) => time)]).toEqual([[10n], [50n]]);
    saves[0]?.done();
    await settled();
    expect(covered).toEqual([10n, 20n, 30n]);
  });

  it("also covers a time beyond the stream's position", async () => {
    const saves: bigint[] = [];
    const applyWatermark = new ApplyWatermark(
      0n,
      (time) => Promise.resolve(void saves.push(time)),
      () => 5n,
    );
    await applyWatermark.cover(9n);
    await applyWatermark.cover(9n);
    expect(saves).toEqual([9n]);
  });

  it('fails its waiters when the write fails', async () => {
    const applyWatermark = new ApplyWatermark(
      0n,
      () => Promise.reject(new Error('refused')),
      () => 5n,
    );
    await expect(applyWatermark.cover(1n)).rejects.toThrow('refused');
    await expect(applyWatermark.cover(1n)).rejects.toThrow('refused');
  });
});

describe('a byte budget', () => {
  it('makes readers wait while it is full, and never its takers', async () => {
    const budget = new ByteBudget(100);
    budget.take(150);
    let free = false;
    void budget.untilFree(never).then(() => (free = true));
    budget.give(50);
    await settled();
    expect([free, budget.used]).toEqual([false, 100]);
    budget.give(1);
    await settled();
    expect(free).toBe(true);
  });

  it("stops waiting with the signal's reason", async () => {
    const budget = new ByteBudget(1);
    budget.take(1);
    const stop = new AbortController();
    const waiting = budget.untilFree(stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    await expect(budget.untilFree(stop.signal)).rejects.toThrow('stopped');
  });
});

describe('a condition', () => {
  it('wakes the waiters whose condition holds', async () => {
    const condition = new Condition();
    let level = 0;
    const woken: number[] = [];
    for (const wanted of [1, 2]) void condition.until(() => level >= wanted, never).then(() => woken.push(wanted));
    for (level = 1; level <= 2; level += 1) {
      condition.changed();
      await settled();
      expect(woken).toHaveLength(level);
    }
  });

  it("rejects with the signal's reason, even when the condition holds", async () => {
    const stop = new AbortController();
    const waiting = new Condition().until(() => false, stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    await expect(new Condition().until(() => true, stop.signal)).rejects.toThrow('stopped');
  });
});

describe('tasks that run together', () => {
  it('all end when one fails, and throw the first failure when they have ended', async () => {
    const ended: string[] = [];
    const other = async (signal: AbortSignal): Promise<void> => {
      await new Condition().until(() => false, signal).catch(() => undefined);
      await settled();
      ended.push('other');
      throw new Error('a consequence');
    };
    await expect(runTogether(never, [other, () => Promise.reject(new Error('the cause'))])).rejects.toThrow(
      'the cause',
    );
    expect(ended).toEqual(['other']);
  });
});
