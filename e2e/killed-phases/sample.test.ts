import { drawn } from '../../test/seed.js';
import { type KilledPhase, testKilledPhase } from './killed-phases.js';

const all = (['hold', 'apply', 'barrier'] as const).flatMap((phase): readonly KilledPhase[] => [
  { phase, sourceAccess: 'direct' },
  { phase, sourceAccess: 'router' },
]);

/** A usual run has one of them, by its seed. */
for (const one of drawn(all)) testKilledPhase(one, false);
