import { serversOf } from '@convoy/testbed/cluster/servers-of';
import { drawn } from '../../../../../test/seed.js';
import type { Releases } from './fixture.js';

const isSimulated = (['source', 'destination'] as const).every((side) => serversOf(side).kind === 'simulator');

/** Real servers have the release that they have; of simulated ones the seed draws a pair. */
function pairOf(pairs: readonly [Releases, ...Releases[]]): Releases {
  return (isSimulated ? drawn(pairs)[0] : undefined) ?? pairs[0];
}

/** For tests that hold on all releases: the default one, or the oldest, whose streams show less. */
export const anyReleases = pairOf([{}, { cluster0: '5.0', cluster1: '5.0' }]);

/** For tests of clusters whose users' writes can be blocked: the default release, or the oldest that can. */
export const blockingReleases: Releases & { readonly withUsers: true } = {
  ...pairOf([{}, { cluster0: '6.0', cluster1: '7.0' }]),
  withUsers: true,
};
