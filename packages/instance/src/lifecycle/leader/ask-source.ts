import { blockedClusters } from '@convoy/api/contract/write-blocking';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { failureName } from '../../cluster/failure.js';
import { untilAborted, within } from '../../async/clock.js';
import type { LeaderDependencies } from '../migration/migration-dependencies.js';
import { hasWarning, recordWarning } from '../migration/recorded-warnings.js';
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
export async function keepSourceClosed(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, watch } = deps;
  if (!blockedClusters(watch.view.record.options.enableUserWriteBlocking).source) return;
  let outcome: Outcome = null;
  const onOutcome = (each: Outcome) => void (outcome = each);
  await untilAborted(
    applyWriteBlock(deps, 'source', signal, { clock: runtime.clock, within_ms: block_ms, onOutcome }),
    signal,
  );
  await report(deps, closed, outcome, signal);
}

/** Starts the source's balancer again if it was on, in the same way. */
export async function restoreSourceBalancer(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, watch } = deps;
  const ask = (each: AbortSignal) => restoreBalancer(deps, 'source', balancersAfter(watch.view.record), each);
  const outcome = await within(balancer_ms, runtime.clock, ask, signal).then(
    () => null,
    (error: unknown) => ({ error }),
  );
  await report(deps, balanced, outcome, signal);
}

async function report(
  deps: LeaderDependencies,
  { warning, describe }: Wish,
  outcome: Outcome,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { runtime, watch, source } = deps;
  if (outcome === null) {
    // An earlier leader may have recorded the warning.
    if (hasWarning(watch.view.record, warning)) await recordWarning(deps, warning, null, signal);
    return;
  }
  const { error } = outcome;
  runtime.logger.warn({ event: 'sourceNotRestored', warning, err: error }, 'the source was not left as it should be');
  const reason = error instanceof ConvoyError ? error.error : failureName(error);
  await recordWarning(deps, warning, describe(source.name, reason), signal);
}
