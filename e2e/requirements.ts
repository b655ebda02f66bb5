import { backendVersion } from '@convoy/cli/environment/cluster/backend-version';

/** What a test needs of its servers, in words that show in its name when it is skipped. */
export interface Requirement {
  /** The oldest server version, for example [6, 0]. */
  version: readonly [number, number];
}

const present = await backendVersion();

/**
 * Options for vitest's `test`: skips the test where the servers are too old for it.
 * Use as `test('name', needs({ version: [5, 0] }), async () => …)`.
 */
export function needs({ version: [major, minor] }: Requirement): { skip: boolean } {
  return { skip: present[0] < major || (present[0] === major && present[1] < minor) };
}
