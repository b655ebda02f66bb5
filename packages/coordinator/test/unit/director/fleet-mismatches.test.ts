import { expect, it } from 'vitest';
import { only } from '../../../../api/test/unit/only.js';
import type { Mismatch } from '@convoy/api/contract/mismatch';
import type { FleetDirector } from '../../../src/director/fleet-director.js';
import { DirectorService } from '../../../src/director/director-service.js';

const mismatch = (namespace: string, kind: Mismatch['kind'], n: number): Mismatch => ({
  namespace,
  kind,
  _id: n,
  paths: [],
  detail: null,
  firstSeen: '',
  lastSeen: '',
  looks: 1,
  proven: false,
});
const reported = [
  mismatch('shop.orders', 'different', 1),
  mismatch('shop.orders', 'extraOnDestination', 2),
  mismatch('shop.items', 'different', 3),
];

it.each([
  [{ limit: 100 }, [1, 2, 3]],
  [{ limit: 2 }, [1, 2]],
  [{ limit: 100, kind: 'different' as const }, [1, 3]],
  [{ limit: 1, kind: 'different' as const, namespace: 'shop.items' }, [3]],
])("a fleet serves its instances' mismatches: %j", async (query, ids) => {
  const director = only<FleetDirector>({ mismatches: () => reported });
  const service = new DirectorService(director, (_name, run) => run(), {
    inventory: () => Promise.reject(new Error()),
  });
  const found: unknown[] = [];
  for await (const { _id } of service.mismatches(query)) found.push(_id);
  expect(found).toEqual(ids);
});
