import { describe, expect, it } from 'vitest';
import { EventDispatcher } from '../../../src/apply/event-dispatcher.js';
import type { EventDispatcherDependencies } from '../../../src/apply/event-dispatcher.js';
import { ByteBudget } from '../../../src/store/byte-budget.js';

function routerAt(startAt: bigint): EventDispatcher {
  const nothing = (): void => undefined;
  const deps = {
    collections: new Map(),
    tables: new Map(),
    applyWorkers: {},
    budget: new ByteBudget(1000),
    watermark: 0n,
    onDdlChange: nothing,
    onUnknownCollection: nothing,
    includes: () => true,
  };
  return new EventDispatcher(deps as unknown as EventDispatcherDependencies, startAt, 0n);
}

describe("the source's time", () => {
  it('is not earlier than the latest token', () => {
    const dispatcher = routerAt(10n);
    dispatcher.route({ events: [], readBelow: 30n, sourceTime: 20n, reopened: false });
    expect(dispatcher.sourceTime).toBe(30n);
    dispatcher.route({ events: [], readBelow: 35n, sourceTime: 40n, reopened: false });
    expect(dispatcher.sourceTime).toBe(40n);
  });
});
