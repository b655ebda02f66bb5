import { ConvoyError } from '@convoy/api/errors/convoy-error';

/** Release of this software; metadata carries it. */
export const release = '1.9.0';

/** @throws ConvoyError `metadataFromNewerRelease` when the migration was begun by a later release than this one */
export function refuseNewerRelease(recorded: string, own: string): void {
  const there = numbersOf(recorded);
  const here = numbersOf(own);
  for (const [position, number] of there.entries()) {
    const mine = here[position] ?? 0;
    if (number < mine) return;
    if (number > mine)
      throw new ConvoyError(
        'metadataFromNewerRelease',
        `The migration was begun by release ${recorded}; this is ${own}. Go on with that or a later one.`,
      );
  }
}

/** From this release on the copy's figures are those of the contract; what an earlier one has counted means something else. */
const copyStatsRelease = '1.8.0';

/** Whether the copy's figures of a migration that a release has begun are to be counted anew. */
export function countsCopyAnew(recorded: string): boolean {
  const [here, there] = [numbersOf(copyStatsRelease), numbersOf(recorded)];
  for (const [position, number] of here.entries()) {
    const other = there[position] ?? 0;
    if (other !== number) return other < number;
  }
  return false;
}

function numbersOf(text: string): number[] {
  return text.split('.').map(Number);
}
