import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { NewMigration } from '../../../src/store/migration-record.js';

/** A migration that nobody has recorded yet. */
export const unrecorded: NewMigration = {
  release: '2.0.0',
  options: parseStartRequest({ source: 'cluster0', destination: 'cluster1' }),
  source: { name: 'cluster0', clusterId: '0' },
  destination: { name: 'cluster1', clusterId: '1' },
  access: 'direct',
  taskIds: ['a', 'b'],
  destinationShards: ['c'],
  warnings: [],
  reversal: null,
};
