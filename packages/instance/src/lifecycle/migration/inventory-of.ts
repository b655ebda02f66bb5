import type { InventoryOf } from '../../inventory/take-inventory.js';
import { isOpeningDecided, type MigrationRecord } from '../../store/migration-record.js';
import { keepsBalancer, swapsOf } from '../../store/reversal.js';
import type { BothClusters } from './migration-dependencies.js';

/** What of a migration its inventory depends on. */
export function inventoryOfMigration(
  { runtime, source, destination }: BothClusters,
  record: MigrationRecord,
): InventoryOf {
  const { phase, reversal, options } = record;
  return {
    source,
    destination,
    request: options,
    turns: swapsOf(record),
    reverses: phase === 'committed' && !!reversal && !reversal.isOver,
    former: formerBalancers(record),
    now_ms: runtime.clock.now_ms(),
  };
}

/** While a migration holds the balancers, their settings say nothing about what an operator wants. */
function formerBalancers(record: MigrationRecord): InventoryOf['former'] {
  const { balancers } = record;
  if (balancers === null || isOpeningDecided(record)) return null;
  const of = (side: 'source' | 'destination') => ({
    isOn: balancers[side],
    isMergerOff: balancers.autoMergersOff?.[side] === true,
  });
  return { source: keepsBalancer(record) ? null : of('source'), destination: of('destination') };
}
