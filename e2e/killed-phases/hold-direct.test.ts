import { testKilledPhase } from './killed-phases.js';

testKilledPhase({ phase: 'hold', sourceAccess: 'direct' }, true);
