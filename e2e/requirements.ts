import type { ReleaseSeries } from '@convoy/simulator';
import { backendVersion } from '@convoy/testbed/cluster/server-version';
import { type MigrationSide, serversOf } from '@convoy/testbed/cluster/servers-of';

/** Clusters with users, whose writes can be blocked from 6.0 on. */
export const guarded = { withUsers: true } as const;

type Version = readonly [number, number];

/** What a test needs of the servers of both sides, in words that show in its name when it is skipped. */
export interface Requirement {
  /** The oldest server version of either side, for example [6, 0]; or of each. */
  version: Version | Readonly<Record<MigrationSide, Version>>;
  /** Its only release; simulated servers can be of any. */
  release?: ReleaseSeries;
  /** It needs processes of real servers on both sides, for example to freeze one of them. */
  real?: boolean;
  /** It runs with CONVOY_TEST_FULL=1 alone, since a usual run has samples that contain it. */
  inFull?: boolean;
}

/** Whether this run has the full counts; a usual one has a sample of each. */
export const isFullRun = process.env['CONVOY_TEST_FULL'] === '1';

const sides = ['source', 'destination'] as const;
const present = await Promise.all(sides.map((side) => backendVersion(undefined, side)));
const isReal = sides.every((side) => serversOf(side).kind === 'binaries');
const isSimulated = sides.every((side) => serversOf(side).kind === 'simulator');

/**
 * Options for vitest's `test`: skips the test where the servers are not what it needs.
 * Use as `test('name', needs({ version: [5, 0] }), async () => …)`.
 */
export function needs(requirement: Requirement): { skip: boolean } {
  const { version, release, real = false, inFull = false } = requirement;
  if ((inFull && !isFullRun) || (real && !isReal)) return { skip: true };
  const isOld = sides.some((side, index) =>
    isBelow(present[index] ?? [], 'source' in version ? version[side] : version),
  );
  const isOther = release !== undefined && !isSimulated && present.some(([a, b]) => `${a}.${b}` !== release);
  return { skip: isOld || isOther };
}

function isBelow([major, minor]: readonly number[], [otherMajor, otherMinor]: Version): boolean {
  return (major ?? 0) < otherMajor || (major === otherMajor && (minor ?? 0) < otherMinor);
}
