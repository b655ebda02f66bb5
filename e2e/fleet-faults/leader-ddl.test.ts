import { testKilledLeader } from './killed-leader.js';

testKilledLeader('ddlChanges');
