import { CarryChoice } from '../../inventory/carry-choice.js';
import { carryProblems } from '../../inventory/carry-problems.js';
import { compareInventories, leftBehind } from '../../inventory/compare-inventories.js';
import { describeLeftBehind, leftBehindWarning } from '../../inventory/left-behind.js';
import { readBoth } from '../../inventory/take-inventory.js';
import { swapsOf } from '../../store/reversal.js';
import { inventoryOfMigration } from '../migration/inventory-of.js';
import type { LeaderDependencies } from '../migration/migration-dependencies.js';
import { cannotCarryWarning, recordWarning } from '../migration/recorded-warnings.js';

/** Interval between looks: people change users and zones, and a look takes some commands. */
const look_ms = 60_000;

/**
 * Looks again and again, until the signal, at what the commit would leave behind, and whether it could take along what
 * `carry` names. Warnings say what it finds, and the second one blocks a commit. A look that fails is repeated.
 */
export async function followInventory(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime } = deps;
  while (!signal.aborted) {
    await look(deps, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      runtime.logger.debug({ event: 'inventoryNotRead', err: error }, 'the inventory could not be read');
    });
    await runtime.clock.sleep(look_ms, signal);
  }
}

async function look(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { source, destination, watch } = deps;
  const { record } = watch.view;
  const found = await readBoth(inventoryOfMigration(deps, record), signal);
  const choice = new CarryChoice(record.options, swapsOf(record) % 2 === 1);
  const left = leftBehind(compareInventories(found.source, found.destination, choice), choice);
  await warnOf(deps, leftBehindWarning, left.length === 0 ? null : describeLeftBehind(left), signal);
  const problems = carryProblems({ source, destination }, found, choice);
  await warnOf(deps, cannotCarryWarning, problems.length === 0 ? null : problems.join(' '), signal);
}

/** Writes only what is news. */
async function warnOf(
  deps: LeaderDependencies,
  name: string,
  description: string | null,
  signal: AbortSignal,
): Promise<void> {
  const known = deps.watch.view.record.warnings.find((warning) => warning.name === name)?.description ?? null;
  if (known !== description) await recordWarning(deps, name, description, signal);
}
