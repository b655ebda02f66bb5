import { nameSome } from '../catalog/name-some.js';

/** Name of the warning about what a commit would leave behind. */
export const leftBehindWarning = 'leftBehind';

/** Items that one warning names. */
const namedMax = 20;

/** @param left kinds and names */
export function describeLeftBehind(left: readonly string[]): string {
  return (
    `A commit leaves behind on the source: ${nameSome(left, namedMax)}. GET /api/v1/inventory and convoy check list ` +
    'everything with what to do; the start option carry takes most of it along.'
  );
}
