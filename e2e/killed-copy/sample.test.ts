import { drawn } from '../../test/seed.js';
import { type KilledCopies, testKilledCopies } from './killed-copies.js';

const all = (['direct', 'router'] as const).flatMap((sourceAccess): readonly KilledCopies[] => [
  { sourceAccess, victims: 1 },
  { sourceAccess, victims: 2 },
]);

/** A usual run has one of them, by its seed. */
for (const one of drawn(all)) testKilledCopies(one, false);
