/** Which of the two clusters of a migration a cluster is. */
export type MigrationSide = 'source' | 'destination';

/** What a cluster's servers are started from. */
export type Servers =
  | { readonly kind: 'binaries'; readonly folder: string }
  | { readonly kind: 'containers'; readonly image: string }
  | { readonly kind: 'simulator' };

/**
 * What the servers of a side are started from, by the environment. `MONGO_BIN` (a folder with `mongod` and `mongos`)
 * and `MONGO_IMAGE` (a container image with both) are for both sides. `MONGO_BIN_SOURCE`, `MONGO_BIN_DESTINATION` and
 * the same for images are for one side, and win there: so a migration from one release to another is tested.
 * @param side none for a cluster that is not part of a migration: where both sides have servers of their own alone, it
 * is of the destination's, whose release is the newer one
 */
export function serversOf(
  side?: MigrationSide,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Servers {
  const suffixes = side === undefined ? ['', '_DESTINATION', '_SOURCE'] : [`_${side.toUpperCase()}`, ''];
  for (const suffix of suffixes) {
    const folder = environment[`MONGO_BIN${suffix}`];
    if (folder) return { kind: 'binaries', folder };
    const image = environment[`MONGO_IMAGE${suffix}`];
    if (image) return { kind: 'containers', image };
  }
  return { kind: 'simulator' };
}
