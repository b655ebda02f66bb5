import { testKilledPhase } from './killed-phases.js';

testKilledPhase({ phase: 'apply', sourceAccess: 'router' }, true);
