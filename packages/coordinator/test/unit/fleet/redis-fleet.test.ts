import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ThrottledPublisher } from '../../../src/fleet/redis-fleet.js';
import type { RedisConnection } from '../../../src/redis/signed-redis.js';

const gap_ms = 50;

describe('ThrottledPublisher', () => {
  const sent: string[] = [];
  let answer: () => Promise<number> = () => Promise.resolve(1);
  const connection: Pick<RedisConnection, 'publish'> = {
    publish: (_channel: unknown, message: unknown) => {
      sent.push(String(message));
      return answer();
    },
  };
  const make = (): ThrottledPublisher => new ThrottledPublisher(connection as RedisConnection, 'channel', gap_ms);
  beforeEach(() => {
    sent.length = 0;
    answer = () => Promise.resolve(1);
    vi.useFakeTimers();
  });
  afterEach(() => vi.useRealTimers());

  it('sends the first immediately and the last of many after the interval', async () => {
    const publisher = make();
    for (const message of ['a', 'b', 'c']) publisher.send(message);
    expect(sent).toEqual(['a']);
    await vi.advanceTimersByTimeAsync(gap_ms);
    expect(sent).toEqual(['a', 'c']);
    await vi.advanceTimersByTimeAsync(10 * gap_ms);
    publisher.send('d');
    expect(sent).toEqual(['a', 'c', 'd']);
  });

  it('has at most one pending message while Redis does not respond', async () => {
    let settle: () => void = () => undefined;
    answer = () => new Promise((resolve) => (settle = () => resolve(1)));
    const publisher = make();
    for (let at = 0; at < 100; at += 1) {
      publisher.send(String(at));
      await vi.advanceTimersByTimeAsync(gap_ms);
    }
    expect(sent).toEqual(['0']);
    settle();
    await vi.advanceTimersByTimeAsync(gap_ms);
    expect(sent).toEqual(['0', '99']);
  });

  it('continues after a failure, but not after its stop', async () => {
    answer = () => Promise.reject(new Error('gone'));
    const publisher = make();
    publisher.send('a');
    publisher.send('b');
    await vi.advanceTimersByTimeAsync(gap_ms);
    expect(sent).toEqual(['a', 'b']);
    publisher.send('c');
    publisher.stop();
    publisher.send('d');
    await vi.advanceTimersByTimeAsync(10 * gap_ms);
    expect(sent).toEqual(['a', 'b']);
  });
});
