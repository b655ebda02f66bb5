import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** Release of this software, as stored in the metadata. */
export const release = '2.0.0';

/** The release that renamed collections and fields of the metadata. */
const renamedIn = '2.0.0';

/** The first release whose totals of the copy have the contract's meaning. */
const totalsChangedIn = '1.8.0';

/**
 * Refuses a migration in which a later release has taken part.
 * @throws ConvoyError `metadataFromNewerRelease`
 */
export function refuseNewerRelease(recorded: string, own: string): void {
  if (!isEarlier(own, recorded)) return;
  throw new ConvoyError(
    'metadataFromNewerRelease',
    `Release ${recorded} has taken part in the migration, and this is ${own}. ` +
      `Continue with ${recorded} or a later release.`,
  );
}

/**
 * For commands that only read metadata: refuses that of a release that they cannot read.
 * @throws ConvoyError `metadataFromOlderRelease` until an instance has taken the migration over, and
 *   `metadataFromNewerRelease` as `refuseNewerRelease` does
 */
export function refuseUnreadable(recorded: string, own: string): void {
  refuseNewerRelease(recorded, own);
  if (!usesOldNames(recorded)) return;
  throw new ConvoyError(
    'metadataFromOlderRelease',
    `Release ${recorded} has stored the metadata, and this is ${own}. ` +
      `Start an instance of ${own} to take it over, or use ${recorded}.`,
  );
}

/** Whether the recorded release stored its metadata under the names before the renaming. */
export function usesOldNames(recorded: string): boolean {
  return isEarlier(recorded, renamedIn);
}

/** Whether the copy's totals that the recorded release stored must be counted anew. */
export function mustRecountCopy(recorded: string): boolean {
  return isEarlier(recorded, totalsChangedIn);
}

function isEarlier(release: string, than: string): boolean {
  const [numbers, others] = [release, than].map((text) => text.split('.').map(Number));
  for (const [position, number] of (others ?? []).entries()) {
    const part = numbers?.[position] ?? 0;
    if (part !== number) return part < number;
  }
  return false;
}
