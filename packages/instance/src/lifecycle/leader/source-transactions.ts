import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { openTransactions } from '../../cluster/current-operations.js';
import type { LeaderDependencies, MigrationDependencies } from '../migration/migration-dependencies.js';
import { hasWarning, recordWarning } from '../migration/recorded-warnings.js';

/** Interval between checks for open transactions. */
const transactionsPoll_ms = 200;
/** Transactions mostly end within milliseconds: a longer wait is worth a warning. */
const quietFor_ms = 2_000;
/**
 * Servers end a transaction after `transactionLifetimeLimitSeconds`, 60 s by default; a prepared one waits for its
 * shards.
 */
const transactionsWithin_ms = 10 * 60_000;

/** Name of the warning while transactions of the source hold a commit. */
export const transactionsWarning = 'commitHeldByTransactions';

/**
 * Resolves once every transaction that was open on a shard of the source has ended. Servers acknowledge a cross-shard
 * transaction before all shards have committed: a commit time in between would tear it. It does not wait for later
 * transactions.
 * @throws ConvoyError `transactionsNotEnded` when one stays open for too long
 */
export async function untilTransactionsEnd(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, source } = deps;
  const started_ms = runtime.clock.monotonic_ms();
  const look = () => runtime.retrying('look for open transactions', () => openTransactions(source, { signal }), signal);
  for (let open = await look(); open.size > 0;) {
    const waited_ms = runtime.clock.monotonic_ms() - started_ms;
    const description = `${source.name} has ${open.size} transactions that have not ended on all shards.`;
    if (waited_ms > transactionsWithin_ms) throw new ConvoyError('transactionsNotEnded', `${description} ${advice}`);
    if (waited_ms > quietFor_ms && !isRequested(deps)) {
      runtime.logger.warn(
        { event: 'commitHeldByTransactions', transactions: open.size },
        'the commit waits until transactions of the source have ended',
      );
      await recordWarning(deps, transactionsWarning, `The commit waits: ${description} ${advice}`, signal);
    }
    await runtime.clock.sleep(transactionsPoll_ms, signal);
    const stillOpen = await look();
    open = new Set([...open].filter((transaction) => stillOpen.has(transaction)));
  }
  // An earlier leader may have recorded the warning.
  if (isRequested(deps)) await recordWarning(deps, transactionsWarning, null, signal);
}

const advice =
  'Find them with $currentOp. Kill the sessions of open ones; for prepared ones, bring back the shards that take part.';

function isRequested({ watch }: MigrationDependencies): boolean {
  return hasWarning(watch.view.record, transactionsWarning);
}
