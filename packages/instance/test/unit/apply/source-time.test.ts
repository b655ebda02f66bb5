import { describe, expect, it } from 'vitest';
import { Router } from '../../../src/apply/router.js';
import type { RouterContext } from '../../../src/apply/router.js';
import { ByteBudget } from '../../../src/store/byte-budget.js';

function routerAt(startAt: bigint): Router {
  const nothing = (): void => undefined;
  const context = { collections: new Map(), tables: new Map(), lanes: {}, budget: new ByteBudget(1000), begunBefore: 0n, onDefinition: nothing, onUnknownCollection: nothing, includes: () => true };
  return new Router(context as unknown as RouterContext, startAt, 0n);
}

describe("the source's time", () => {
  it('is not earlier than the token of what was read', () => {
    const router = routerAt(10n);
    router.route({ events: [], readBelow: 30n, sourceTime: 20n, reopened: false });
    expect(router.sourceTime).toBe(30n);
    router.route({ events: [], readBelow: 35n, sourceTime: 40n, reopened: false });
    expect(router.sourceTime).toBe(40n);
  });
});
