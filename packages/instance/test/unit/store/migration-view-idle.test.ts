import { expect, it } from 'vitest';
import { IdleDetector, IdleTasks } from '../../../src/store/migration-view.js';
import { recordWith, taskWith } from '../model/migration-state.js';
import { only } from '../../../../../test/only.js';
import type { Clock } from '../../../src/async/clock.js';
import type { MigrationWatch } from '../../../src/store/migration-watch.js';

let now_ms = 5_000;
const clock = { monotonic_ms: () => now_ms };

it('a value is idle once it has not changed for some time, until its first change', () => {
  const idle = new IdleDetector(only<Clock>(clock), 100);
  const looks: [number, string][] = [
    [0, 'a'],
    [99, 'a'],
    [1, 'a'],
    [50, 'a'],
    [0, 'b'],
    [99, 'b'],
    [1, 'b'],
  ];
  const found = looks.map(([later_ms, seen]) => {
    now_ms += later_ms;
    return idle.isIdle(seen);
  });
  expect(found).toEqual([false, false, true, true, false, false, true]);
});

it('tasks are idle after ten seconds without work, and not while a commit is requested', () => {
  const task = taskWith({ eventsApplied: 1, copied: { bytes: 1, documents: 1 }, copyDone: true });
  const view = { record: recordWith({ phase: 'syncing' }), tasks: new Map([['a', task]]) };
  const idle = new IdleTasks(only<MigrationWatch>({ view }), only<Clock>(clock));
  const after = (later_ms: number): boolean => {
    now_ms += later_ms;
    return idle.isIdle();
  };
  expect([after(0), after(9_999), after(1)]).toEqual([false, false, true]);
  task.eventsApplied = 2;
  expect([after(1), after(10_000)]).toEqual([false, true]);
  task.commitRequested = true;
  expect(after(1)).toBe(false);
});
