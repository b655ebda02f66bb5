import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** Release of this software, as stored in the metadata. */
export const release = '2.0.0';

/** The first release whose metadata has today's names. */
const namesRelease = '2.0.0';

/** The first release whose totals of the copy are those of the contract; earlier totals mean something else. */
const copyStatsRelease = '1.8.0';

/**
 * Refuses a migration whose metadata this release does not take over.
 * @throws ConvoyError `metadataFromNewerRelease` when a later release than this one has taken part in it
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
 * Refuses what reads a migration without taking part in it.
 * @throws ConvoyError `metadataFromOlderRelease` until an instance has taken the migration over, and
 *   `metadataFromNewerRelease` as `refuseNewerRelease` does
 */
export function refuseOtherRelease(recorded: string, own: string): void {
  refuseNewerRelease(recorded, own);
  if (!hasFormerNames(recorded)) return;
  throw new ConvoyError(
    'metadataFromOlderRelease',
    `Release ${recorded} has stored the migration, and this is ${own}. ` +
      `Start an instance of ${own} to take it over, or use ${recorded}.`,
  );
}

/** Whether a release stored its metadata under other names than today's. */
export function hasFormerNames(recorded: string): boolean {
  return isEarlier(recorded, namesRelease);
}

/** Whether the totals of a copy that this release began must be recounted. */
export function countsCopyAnew(recorded: string): boolean {
  return isEarlier(recorded, copyStatsRelease);
}

function isEarlier(one: string, other: string): boolean {
  const [numbers, others] = [one, other].map((text) => text.split('.').map(Number));
  for (const [position, number] of (others ?? []).entries()) {
    const own = numbers?.[position] ?? 0;
    if (own !== number) return own < number;
  }
  return false;
}
