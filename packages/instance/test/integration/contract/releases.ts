import { backendVersion } from '@convoy/testbed/cluster/server-version';
import { serversOf } from '@convoy/testbed/cluster/servers-of';
import { drawn, sampled } from '../../../../../test/seed.js';
import type { Releases } from './fixture.js';

const sides = ['source', 'destination'] as const;
const isSimulated = sides.every((side) => serversOf(side).kind === 'simulator');

/** Whether the servers of both sides are real. */
export const areReal = sides.every((side) => serversOf(side).kind !== 'simulator');

/** Both sides of 5.0: their streams show less, and they refuse filters and conversions that later ones take. */
const oldest: Releases = { cluster0: '5.0', cluster1: '5.0' };

/**
 * For a test that holds on all releases, and whose code goes other ways on the oldest: a name and releases for
 * `describe.each`. Real servers have the release that they have.
 */
export const triedReleases: readonly (readonly [string, Releases])[] = isSimulated
  ? sampled([
      ['8.0', {}],
      ['5.0', oldest],
    ])
  : [['the present servers', {}]];

/** The same for a test with one pair of clusters; the seed draws, in a full run too. */
export const anyReleases: Releases = isSimulated ? (drawn([{}, oldest])[0] ?? {}) : {};

const [sourceRelease, destinationRelease] = await Promise.all(
  (['source', 'destination'] as const).map((side) => backendVersion(undefined, side)),
);

/** The older major release of both sides; null if one of them is simulated. */
export const realRelease = areReal ? Math.min(sourceRelease?.[0] ?? 0, destinationRelease?.[0] ?? 0) : null;

/** The present servers, if all can block the writes of users; otherwise those of one release that can. */
export const presentBlocking: Releases =
  Math.min(sourceRelease?.[0] ?? 0, destinationRelease?.[0] ?? 0) >= 6 ? {} : { cluster0: '8.0', cluster1: '8.0' };

/** For tests of clusters whose users' writes can be blocked: the default release, or the oldest that can. */
export const blockingReleases: Releases & { readonly withUsers: true } = {
  ...(isSimulated ? drawn<Releases>([{}, { cluster0: '6.0', cluster1: '7.0' }])[0] : presentBlocking),
  withUsers: true,
};

/** Whether the second cluster can be a source for the first one: none can migrate to an older release. */
export const canGoBack = sourceRelease?.[0] === destinationRelease?.[0];
