import { testStalledLeader } from './stalled-leader.js';

testStalledLeader('ddlChanges');
