import { secondsOf } from '../cluster/cluster-time.js';
import type { MigrationRecord } from './migration-record.js';

/** Numbers of data writes have room for epochs below this. */
const epochsMax = 2 ** 31;

/**
 * Where the epochs of a migration begin: no earlier migration with its state on this cluster has used them, unless it
 * had an owner each second.
 * @param time of the cluster that holds the state, when the migration begins
 */
export function firstEpochAt(time: bigint): number {
  return secondsOf(time) % epochsMax;
}

/** Whether another leader, or owner of the task, had an epoch before this one. */
export function hasPredecessor({ firstEpoch = 0 }: Pick<MigrationRecord, 'firstEpoch'>, epoch: number): boolean {
  return epoch > firstEpoch + 1;
}
