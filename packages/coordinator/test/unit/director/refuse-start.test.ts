import { expect, it } from 'vitest';
import { refuseOtherClusters } from '../../../src/director/refuse-start.js';
import { membersOf } from '../../../src/progress/members.js';
import { snapshot } from '../progress/snapshots.js';

const with1 = (cluster1: string) => ({ clusterIds: { cluster0: 'x', cluster1 } });

it('rejects a start with the names of instances that have other clusters configured', () => {
  const members = membersOf(snapshot({ a: with1('y'), b: with1('z'), c: with1('y') }));
  expect(() => refuseOtherClusters(members)).toThrow(
    expect.objectContaining({
      error: 'wrongCluster',
      errorDescription: expect.stringContaining('than the rest: b.') as string,
    }) as Error,
  );
});

it('accepts instances that agree, do not know yet or are dead', () => {
  const members = membersOf(snapshot({ a: with1('y'), b: {}, c: { ...with1('z'), fresh: false }, d: with1('y') }));
  expect(() => refuseOtherClusters(members)).not.toThrow();
});
