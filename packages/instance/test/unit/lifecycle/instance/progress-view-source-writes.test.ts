import { describe, expect, it } from 'vitest';
import { sourceWritesOf } from '../../../../src/lifecycle/instance/progress-view.js';
import type { TaskStats } from '../../../../src/lifecycle/task/task-stats.js';
import { statsWith } from '../../model/migration-state.js';

function task(changes: Partial<TaskStats> = {}): TaskStats {
  const sourceWrites = { writes: 3, namespaces: [{ namespace: 'shop.a', writes: 3 }], lastWrite_seconds: 1_000 };
  return statsWith({ readLag_seconds: 1, sourceWrites, ...changes });
}

describe('writes to the source', () => {
  it('are those of all own tasks together', () => {
    expect(sourceWritesOf([task(), task()])).toEqual({
      windowSeconds: 10,
      writes: 6,
      namespaces: [{ namespace: 'shop.a', writes: 6 }],
      lastWriteAt: '1970-01-01T00:16:40.000Z',
    });
  });

  it.each([
    ['no task runs', []],
    ['a stream has not shown its position', [task(), task({ followsStream: false })]],
    ['a stream is read too late to show the present', [task({ readLag_seconds: 10 }), task()]],
  ])('are unknown while %s', (_why, stats) => {
    expect(sourceWritesOf(stats)).toBeNull();
  });
});
