import { blockedClusters } from '@convoy/api/contract/write-blocking';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Timestamp } from 'mongodb';
import { untilAborted, within } from '../../async/clock.js';
import { nameSome } from '../../catalog/name-some.js';
import { timeAboveAll, timeBetweenWrites, timestampOf } from '../../cluster/cluster-time.js';
import { failureName } from '../../cluster/failure.js';
import { isVerified, type MigrationRecord } from '../../store/migration-record.js';
import { readCommittedCatalog } from '../migration/migration-catalogs.js';
import {
  type LeaderDependencies,
  type MigrationDependencies,
  recordWarning,
} from '../migration/migration-dependencies.js';
import { allTasks, type MigrationView } from '../../store/migration-view.js';
import { nameOfMismatch } from '../migration/mismatches.js';
import { stepDone } from '../migration/steps.js';
import { applyWriteBlock, keptClosed } from '../migration/write-blocks.js';
import { carryAccess, carrySettings, planCarry } from './carry.js';
import { finishCatalog } from './finish-catalog.js';
import { balancersAfter, restoreBalancerOf } from './initialise.js';
import { refuseLateWrites } from './late-writes.js';

/**
 * The leader's steps from the sealed commit time to COMMITTED. A later leader may repeat every step: it reads each
 * attribute before it changes it. After the decision to open, nothing depends on the source.
 */
export async function commit(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { records, watch, fleet, runtime, leaderEpoch } = deps;
  const { phase, attributesRestoring } = (await watch.refresh(signal)).record;
  if (phase === 'committing') {
    // Once the leader restores attributes, only the later comparison counts.
    if (attributesRestoring !== true) await verifyDocuments(deps, false, signal);
    stepDone('documentsVerified');
    // From here on the destination may expire documents by itself: the comparison of a later leader allows for it.
    if (isVerified(watch.view.record)) await records.updateAsLeader(leaderEpoch, { attributesRestoring: true }, signal);
    const catalog = await readCommittedCatalog(deps, signal);
    await finishCatalog(deps, catalog, signal);
    stepDone('catalogsEqual');
    await verifyDocuments(deps, true, signal);
    stepDone('verifiedAgain');
    const users = await planCarry(deps, signal);
    stepDone('carryPlanned');
    await carryAccess(deps, users, signal);
    stepDone('accessCarried');
    // Who lifts the source's block lets writes in, and only a check after it is set again sees them all.
    do {
      await refuseLateWrites(deps, catalog, signal);
      stepDone('lateWritesRefused');
    } while (!(await keptClosed(deps, signal)));
    const opening = await records.openAsLeader(leaderEpoch, signal);
    if (!opening) throw failedBefore(deps);
    stepDone('openingDecided');
    fleet.wake();
  }
  await storeOpening(deps, signal);
  stepDone('openingTimeStored');
  await carrySettings(deps, signal);
  stepDone('settingsCarried');
  await keepSourceClosed(deps, signal);
  await applyWriteBlock(deps, 'destination', signal);
  stepDone('destinationOpened');
  await records.updateAsLeader(leaderEpoch, { canWrite: true }, signal);
  stepDone('writesAllowed');
  fleet.wake();
  await restoreBalancerOf(deps, 'destination', balancersAfter(watch.view.record), signal);
  await restoreSourceBalancer(deps, signal);
  stepDone('balancersRestored');
  await records.updateAsLeader(leaderEpoch, { phase: 'committed' }, signal);
  stepDone('committed');
  runtime.logger.info({ event: 'committed' }, 'the migration is committed');
  fleet.wake();
  await watch.refresh(signal);
}

/**
 * Every write of Convoy to collections of users is below this time of the destination, every later write above. A
 * reverse replays the destination's changes from it on, and consumers of change streams begin at it.
 */
async function storeOpening(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, destination, records, watch, leaderEpoch } = deps;
  const { reversal, handOver, commit: sealed } = (await watch.refresh(signal)).record;
  if (handOver && (!reversal || reversal.openedAt !== null)) return;
  if (sealed === null) throw new ConvoyError('internalError', 'The commit time is not sealed.');
  const read = () => timeBetweenWrites(destination, { signal });
  const time = timestampOf(await runtime.retrying('take a cluster time of the destination', read, signal));
  // A leader that ended between both writes has a time already, which a reverse may have been promised.
  const openedAt = reversal?.openedAt ?? time;
  if (reversal?.openedAt === null) await records.noteOpening(leaderEpoch, { openedAt }, signal);
  await records.updateAsLeader(leaderEpoch, { handOver: { source: sealed.time, destination: openedAt } }, signal);
}

function failedBefore({ watch }: MigrationDependencies): ConvoyError {
  const { failure } = watch.view.record;
  return new ConvoyError(failure?.error ?? 'migrationFailed', failure?.errorDescription);
}

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
  const ask = (each: AbortSignal) => restoreBalancerOf(deps, 'source', balancersAfter(watch.view.record), each);
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
  const { runtime, source } = deps;
  // An earlier leader may have recorded the warning.
  if (outcome === null) return recordWarning(deps, warning, null, signal);
  const { error } = outcome;
  runtime.logger.warn({ event: 'sourceNotRestored', warning, err: error }, 'the source was not left as it should be');
  const reason = error instanceof ConvoyError ? error.error : failureName(error);
  await recordWarning(deps, warning, describe(source.name, reason), signal);
}

/** Mismatches that are read for the namespaces in a failure's description. */
const namedFromMax = 1_000;

/**
 * Asks all tasks for a final comparison before a sealed commit continues, of everything uncompared or written since, up
 * to the commit time on the source and the present time on the destination. If an earlier leader has asked in the same
 * step, it waits for that one: nobody writes to the destination in between.
 * @param restored the deferred attributes are restored: the destination expires documents by itself again
 * @throws ConvoyError `verificationFailed` when anything differs, `staleEpoch` when another leader has asked meanwhile
 */
export async function verifyDocuments(deps: LeaderDependencies, restored: boolean, signal: AbortSignal): Promise<void> {
  const { watch } = deps;
  const { commit } = watch.view.record;
  if (!isVerified(watch.view.record) || commit === null) return;
  await watch.until(
    (view) => allTasks(view, ({ verification }) => (verification?.planned ?? -1) >= view.record.ddlChanges.done),
    signal,
  );
  const number = askedBefore(watch.view.record, restored) ?? (await ask(deps, commit.time, restored, signal));
  const isAskedAnew = ({ record }: MigrationView) => (record.verification?.number ?? 0) > number;
  const isAnswered = (view: MigrationView) => allTasks(view, ({ verification }) => verification?.answered === number);
  await watch.until((view) => isAskedAnew(view) || isAnswered(view), signal);
  if (isAskedAnew(watch.view)) throw new ConvoyError('staleEpoch', 'Another instance leads.');
  const { tasks } = watch.view;
  const mismatches = [...tasks.values()].reduce((sum, { verification }) => sum + (verification?.mismatches ?? 0), 0);
  if (mismatches > 0) throw await verificationFailed(deps, mismatches, signal);
}

/** The number of the same comparison, if an earlier leader has asked for it; null otherwise. */
function askedBefore({ commit, verification }: MigrationRecord, restored: boolean): number | null {
  const isSame = verification?.restored === restored && commit !== null && verification.source.equals(commit.time);
  return isSame ? verification.number : null;
}

async function ask(
  { watch, records, runtime, destination, fleet, leaderEpoch }: LeaderDependencies,
  source: Timestamp,
  restored: boolean,
  signal: AbortSignal,
): Promise<number> {
  const time = await runtime.retrying(
    'take a cluster time of the destination',
    () => timeAboveAll(destination, { signal }),
    signal,
  );
  const number = (watch.view.record.verification?.number ?? 0) + 1;
  await records.updateAsLeader(
    leaderEpoch,
    { verification: { number, source, destination: timestampOf(time), restored } },
    signal,
  );
  fleet.wake();
  return number;
}

/** @param mismatches of all tasks; a mismatch that two tasks found counts once, as long as there are few */
async function verificationFailed(
  { metadata }: MigrationDependencies,
  mismatches: number,
  signal: AbortSignal,
): Promise<ConvoyError> {
  const found = await metadata.findSome('mismatches', {}, namedFromMax, signal);
  const namespaces = [...new Set(found.map(({ namespace }) => String(namespace)))].sort();
  const count = found.length < namedFromMax ? new Set(found.map(nameOfMismatch)).size : mismatches;
  return new ConvoyError(
    'verificationFailed',
    `${count === 1 ? '1 difference' : `${count} differences`} between source and destination, in: ` +
      `${nameSome(namespaces)}. ` +
      'GET /api/v1/verification/mismatches names them. The destination stays closed.',
  );
}
