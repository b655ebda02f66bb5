import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventQueue } from '../../../src/apply/apply-workers.js';
import type { RoutedEvent } from '../../../src/apply/write-batch.js';

function routedAt(time: number): RoutedEvent {
  return { event: { time: BigInt(time), bytes: 1 + time } } as RoutedEvent;
}

const times = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 20 });
const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('push' as const), times }),
    fc.record({ kind: fc.constant('pushFirst' as const), times }),
    fc.record({ kind: fc.constant('drop' as const), task: fc.double({ min: 0, max: 1, noNaN: true }) }),
  ),
  { maxLength: 60 },
);

describe('the queue of an apply worker', () => {
  it('behaves as a first-in first-out list with an earliest time', () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const queue = new EventQueue();
        let list: RoutedEvent[] = [];
        for (const step of taken) {
          if (step.kind === 'drop') {
            const count = Math.floor(list.length * step.task);
            queue.drop(count);
            list = list.slice(count);
          } else {
            const routed = step.times.map(routedAt);
            if (step.kind === 'push') for (const one of routed) queue.push(one);
            else queue.pushFirst(routed);
            list = step.kind === 'push' ? [...list, ...routed] : [...routed, ...list];
          }
          expect([...queue]).toEqual(list);
          expect(queue.length).toBe(list.length);
          expect(queue.bytes).toBe(list.reduce((sum, { event }) => sum + event.bytes, 0));
          expect(queue.oldest).toBe(
            list.length === 0 ? null : BigInt(Math.min(...list.map(({ event }) => Number(event.time)))),
          );
        }
      }),
    );
  });

  it('loses no event when it is cut', () => {
    const queue = new EventQueue();
    for (let pushed = 0; pushed < 30_000; pushed += 1) {
      queue.push(routedAt(pushed));
      if (pushed % 100 < 90) continue;
      queue.drop(10);
      expect(queue.oldest).toBe([...queue][0]?.event.time ?? null);
    }
    expect([...queue]).toHaveLength(0);
  });
});
