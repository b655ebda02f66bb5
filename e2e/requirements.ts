import type { ReleaseSeries } from '@convoy/simulator';
import { backendVersion } from '@convoy/testbed/cluster/backend-version';

/**
 * Clusters with features after 5.0, if servers can be newer, and with users whose writes can be blocked.
 */
export const guarded = { release: '7.0', withUsers: true } as const;

type Version = readonly [number, number];

/** What a test needs of its servers, in words that show in its name when it is skipped. */
export interface Requirement {
  /** The oldest server version, for example [6, 0]. */
  version: Version;
  /** The first version to which the test does not apply. */
  below?: Version;
  /** Whether its clusters are started as `guarded`; those of containers cannot be. */
  guarded?: boolean;
  /** Its only release; simulated servers can be of any. */
  release?: ReleaseSeries;
  /** It runs with CONVOY_TEST_FULL=1 alone, since a usual run has samples that contain it. */
  inFull?: boolean;
}

/** Whether this run has the full counts; a usual one has a sample of each. */
export const isFullRun = process.env['CONVOY_TEST_FULL'] === '1';

const present = await backendVersion();
const presentGuarded = await backendVersion(guarded.release);
const canBeGuarded = !process.env['MONGO_IMAGE'];
const isSimulated = canBeGuarded && !process.env['MONGO_BIN'];

/**
 * Options for vitest's `test`: skips the test where the servers are not what it needs.
 * Use as `test('name', needs({ version: [5, 0] }), async () => …)`.
 */
export function needs({ version, below, guarded: isGuarded = false, release, inFull = false }: Requirement): {
  skip: boolean;
} {
  if (inFull && !isFullRun) return { skip: true };
  const tested = isGuarded ? presentGuarded : present;
  const isOld = isBelow(tested, version);
  const isNew = below !== undefined && !isBelow(tested, below);
  const isOther = release !== undefined && !isSimulated && `${present[0]}.${present[1]}` !== release;
  return { skip: isOld || isNew || isOther || (isGuarded && !canBeGuarded) };
}

function isBelow([major, minor]: readonly number[], [otherMajor, otherMinor]: Version): boolean {
  return (major ?? 0) < otherMajor || (major === otherMajor && (minor ?? 0) < otherMinor);
}
