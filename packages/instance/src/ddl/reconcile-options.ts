import type { Document } from 'mongodb';
import { optionDifferences, portableOptions } from '../catalog/collection-options.js';
import { betweenBuilds } from '../catalog/index-builds.js';
import type { CatalogEntry } from '../catalog/namespace.js';
import { type LedDestination, meaning } from './destination-collections.js';

/** The first release whose `collMod` changes capped sizes and pre- and post-images. */
const changesSizesRelease = 6;

/**
 * Brings the options of a destination collection to the source's, as far as `collMod` can. What it cannot change (a
 * capped size before 6.0) stays; the comparison at the commit reports it.
 */
export async function reconcileOptions(
  { destination, confirm, builds }: Pick<LedDestination, 'destination' | 'confirm' | 'builds'>,
  source: CatalogEntry,
  found: CatalogEntry,
  signal: AbortSignal,
): Promise<void> {
  const differing = new Set(optionDifferences(source, found, 'temporary'));
  const changes = optionChanges(
    portableOptions(source).options,
    differing,
    destination.version[0] >= changesSizesRelease,
  );
  if (Object.keys(changes).length === 0) return;
  const command = {
    collMod: found.name,
    ...changes,
    ...meaning({ destination }, found),
    writeConcern: { w: 'majority' },
  };
  const { router: client } = destination;
  await betweenBuilds({ client, signal, builds }, found, async () => {
    await confirm(signal);
    await client.command(found.database, command, { signal });
  });
}

/** The fields of `collMod` that change some options; an option that the source no longer has gets its default. */
function optionChanges(options: Document, differing: ReadonlySet<string>, changesSizes: boolean): Document {
  const changes: Document = {};
  if (differing.has('validator')) changes.validator = (options.validator as Document | undefined) ?? {};
  if (differing.has('validationLevel'))
    changes.validationLevel = (options.validationLevel as string | undefined) ?? 'strict';
  if (differing.has('validationAction'))
    changes.validationAction = (options.validationAction as string | undefined) ?? 'error';
  if (!changesSizes) return changes;
  if (differing.has('changeStreamPreAndPostImages')) {
    changes.changeStreamPreAndPostImages = (options.changeStreamPreAndPostImages as Document | undefined) ?? {
      enabled: false,
    };
  }
  if (differing.has('size')) changes.cappedSize = options.size as unknown;
  // Zero means no limit.
  if (differing.has('max')) changes.cappedMax = (options.max as number | undefined) ?? 0;
  return changes;
}
