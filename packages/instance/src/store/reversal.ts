import type { FormerBalancers, MigrationRecord, Reversal } from './migration-record.js';

/** How many times the clusters of a migration have been swapped. */
export function swapsOf({ reversal }: Pick<MigrationRecord, 'reversal'>): number {
  return reversal?.turns ?? 0;
}

/** The cluster with a migration's state: the destination at its start, whatever its role is now. */
export function homeOf(
  record: Pick<MigrationRecord, 'reversal' | 'source' | 'destination'>,
): MigrationRecord['destination'] {
  return swapsOf(record) % 2 === 0 ? record.destination : record.source;
}

/** The shard of the present source that a task syncs. */
export function sourceShardOf(
  { reversal, taskIds }: Pick<MigrationRecord, 'reversal' | 'taskIds'>,
  taskId: string,
): string {
  return reversal?.sourceShards[taskIds.indexOf(taskId)] ?? taskId;
}

/** Whether chunks and databases may move between the shards of the present source. */
export function keepsBalancer(record: Pick<MigrationRecord, 'reversal' | 'options'>): boolean {
  return record.options.keepBalancer === true && swapsOf(record) === 0;
}

/** The shards of the present source when the migration began, in the order of its tasks. */
export function sourceShardsOf(record: Pick<MigrationRecord, 'reversal' | 'taskIds'>): string[] {
  return record.taskIds.map((id) => sourceShardOf(record, id));
}

/**
 * The changes of a record when its clusters swap roles: the committed collections are synced back, from the opening on.
 */
export function swapped(record: MigrationRecord, reversal: Reversal, catalogEpoch: number): Partial<MigrationRecord> {
  const { source, destination, balancers } = record;
  return {
    source: destination,
    destination: source,
    access: reversal.accessBack,
    destinationShards: reversal.sourceShards,
    phase: 'reversing',
    catalogEpoch,
    startTime: reversal.openedAt,
    estimatedTotalBytes: 1,
    commit: null,
    lastLook: null,
    carryEpoch: null,
    handOver: null,
    ddlChanges: { known: 0, done: 0 },
    ddlWatermark: null,
    joinedShards: [],
    canWrite: false,
    sourceReleased: false,
    balancers: balancers === null ? null : swappedBalancers(balancers),
    warnings: record.options.verification.enabled ? [unverified] : [],
    reversal: {
      ...reversal,
      turns: reversal.turns + 1,
      sourceShards: reversal.destinationShards,
      destinationShards: reversal.sourceShards,
      accessBack: record.access,
      openedAt: null,
      openedCatalogEpoch: null,
    },
  };
}

function swappedBalancers({ source, destination, autoMergersOff }: FormerBalancers): FormerBalancers {
  const swappedOff = autoMergersOff && { source: autoMergersOff.destination, destination: autoMergersOff.source };
  return { source: destination, destination: source, ...(swappedOff && { autoMergersOff: swappedOff }) };
}

const unverified = {
  name: 'reverseNotVerified',
  description:
    'The verifier checks only the first direction: changes after a reverse are not verified. ' +
    'Compare the clusters with convoy verify.',
};
