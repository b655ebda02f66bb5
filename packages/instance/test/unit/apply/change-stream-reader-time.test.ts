import { describe, expect, it } from 'vitest';
import { DispatcherFixture, step } from './dispatcher-fixture.js';

describe("the source's time", () => {
  it('is not earlier than the latest token', () => {
    const dispatcher = new DispatcherFixture().dispatcherOf();
    dispatcher.route(step([], 30n, { sourceTime: 20n }));
    expect(dispatcher.sourceTime).toBe(30n);
    dispatcher.route(step([], 35n, { sourceTime: 40n }));
    expect(dispatcher.sourceTime).toBe(40n);
  });
});
