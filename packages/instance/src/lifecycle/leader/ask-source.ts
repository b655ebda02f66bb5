import { blockedClusters } from '@convoy/api/contract/write-blocking';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { failureName } from '../../cluster/failure.js';
import { untilAborted, within } from '../../cluster/within.js';
import type { MigrationDependencies } from '../migration/migration-dependencies.js';
import { applyWriteBlock } from '../migration/write-blocks.js';
import { balancersAfter, restoreBalancer } from './initialise.js';

/** The source already refuses user writes: confirming it must not keep the destination closed for long. */
const block_ms = 10_000;
/** The destination is open: there is time for a failover of the source. */
const balancer_ms = 30_000;

/** What the end of a commit asks of the source, and the warning when the source does not do it. */
interface Wish {
  warning: string;
  describe: (name: string, reason: string) => string;
}

/** Null for a wish that the source has granted. */
type Outcome = { error: unknown } | null;

const closed: Wish = {
  warning: 'sourceNotClosedAgain',
  describe: (name, reason) =>
    `${name} could not be asked to keep refusing user writes when the destination opened (${reason}); ` +
    'it refused them before. Make sure that nobody writes there. If it takes writes, block them: ' +
    'setUserWriteBlockMode with global true.',
};

const balanced: Wish = {
  warning: 'sourceBalancerLeftOff',
  describe: (name, reason) =>
    `The balancer of ${name} was on before the migration and could not be started again (${reason}). ` +
    'If the cluster stays in use, start it: sh.startBalancer().',
};

/**
 * Asks the source to keep refusing user writes, where it should, before the destination takes them. Once the opening is
 * decided, the source may be gone for good. So the leader asks for a bounded time, and warns of what the source has not
 * done.
 */
export async function keepSourceClosed(
  deps: MigrationDependencies,
  leaderEpoch: number,
  signal: AbortSignal,
): Promise<void> {
  const {
    runtime: { clock },
    watch,
  } = deps;
  if (!blockedClusters(watch.view.record.options.enableUserWriteBlocking).source) return;
  let outcome: Outcome = null;
  const onOutcome = (each: Outcome): void => void (outcome = each);
  await untilAborted(applyWriteBlock(deps, 'source', signal, { clock, within_ms: block_ms, onOutcome }), signal);
  await reportOutcome(deps, leaderEpoch, closed, outcome, signal);
}

/** Starts the source's balancer again if it was on, in the same way. */
export async function restoreSourceBalancer(
  deps: MigrationDependencies,
  leaderEpoch: number,
  signal: AbortSignal,
): Promise<void> {
  const {
    runtime: { clock },
    watch,
  } = deps;
  const ask = (each: AbortSignal): Promise<void> =>
    restoreBalancer(deps, 'source', balancersAfter(watch.view.record), each);
  const outcome = await within(balancer_ms, clock, ask, signal).then(
    () => null,
    (error: unknown) => ({ error }),
  );
  await reportOutcome(deps, leaderEpoch, balanced, outcome, signal);
}

async function reportOutcome(
  deps: MigrationDependencies,
  leaderEpoch: number,
  { warning, describe }: Wish,
  outcome: Outcome,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  if (outcome === null) return report(deps, leaderEpoch, warning, null, signal);
  const { error } = outcome;
  deps.runtime.logger.warn(
    { event: 'sourceNotRestored', warning, err: error },
    'the source was not left as it should be',
  );
  await report(
    deps,
    leaderEpoch,
    warning,
    describe(deps.source.name, error instanceof ConvoyError ? error.error : failureName(error)),
    signal,
  );
}

/** @param description null when there is no warning, also where an earlier leader has recorded it */
async function report(
  { records, watch }: MigrationDependencies,
  leaderEpoch: number,
  name: string,
  description: string | null,
  signal: AbortSignal,
): Promise<void> {
  const { warnings } = watch.view.record;
  const others = warnings.filter((warning) => warning.name !== name);
  if (description === null && others.length === warnings.length) return;
  await records.updateAsLeader(
    leaderEpoch,
    { warnings: description === null ? others : [...others, { name, description }] },
    signal,
  );
  await watch.refresh(signal);
}
