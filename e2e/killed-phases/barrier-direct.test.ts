import { testKilledPhase } from './killed-phases.js';

testKilledPhase({ phase: 'barrier', sourceAccess: 'direct' }, true);
