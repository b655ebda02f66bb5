import { testKilledCopies } from './killed-copies.js';

testKilledCopies({ sourceAccess: 'direct', victims: 1 }, true);
