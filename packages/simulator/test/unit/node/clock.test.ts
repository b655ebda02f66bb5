import { describe, expect, it } from 'vitest';
import { ClusterClock, NodeTime } from '../../../src/node/clock.js';

const shown = ({ seconds, increment }: NodeTime): string => `${seconds}.${increment}`;

describe('the cluster clock', () => {
  it('lets nodes that have not heard of each other give the same times', () => {
    const clock = new ClusterClock(() => 100_000);
    const [one, other] = [new NodeTime(), new NodeTime()];
    clock.goOn(one);
    clock.goOn(one);
    clock.goOn(other);
    expect([shown(one), shown(other)]).toEqual(['100.3', '100.2']);
  });

  it('issues no time at or below a known one', () => {
    const clock = new ClusterClock(() => 100_000);
    const [one, other] = [new NodeTime(), new NodeTime()];
    clock.goOn(one);
    expect(clock.current()).toMatchObject({ t: 100, i: 2 });
    clock.goOn(other);
    expect(shown(other)).toBe('100.3');
    expect(clock.tick()).toMatchObject({ t: 100, i: 4 });
    clock.goOn(one);
    expect(shown(one)).toBe('100.5');
  });

  it('follows the wall clock, but never backwards', () => {
    let nowMs = 100_000;
    const clock = new ClusterClock(() => nowMs);
    const node = new NodeTime();
    clock.goOn(node);
    nowMs = 200_000;
    clock.goOn(node);
    expect(shown(node)).toBe('200.1');
    nowMs = 150_000;
    clock.goOn(node);
    expect(shown(node)).toBe('200.2');
  });
});
