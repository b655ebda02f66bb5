import { testKilledCopies } from './killed-copies.js';

testKilledCopies({ sourceAccess: 'router', victims: 1 }, true);
