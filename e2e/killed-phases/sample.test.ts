import { drawn } from '../../test/seed.js';
import { testKilledCopies } from '../killed-copy/killed-copies.js';
import { testKilledPhase } from './killed-phases.js';

const accesses = ['direct', 'router'] as const;

/** Five kinds of kills with each access: in three phases, and of one or both instances during the copy. */
const all: readonly (() => void)[] = accesses.flatMap((sourceAccess) => [
  ...(['hold', 'apply', 'barrier'] as const).map((phase) => () => testKilledPhase({ phase, sourceAccess }, false)),
  ...([1, 2] as const).map((victims) => () => testKilledCopies({ sourceAccess, victims }, false)),
]);

/** A usual run has one of them, by its seed. */
for (const testOne of drawn(all)) testOne();
