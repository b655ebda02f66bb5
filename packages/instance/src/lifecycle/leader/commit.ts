import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { compareCatalogs, type CatalogDifference } from '../../catalog/plan/compare-catalogs.js';
import type { Catalog } from '../../catalog/namespace.js';
import { restoreAttributes } from '../../catalog/make/restore-attributes.js';
import { UniqueIndexViolated } from '../../catalog/unique-violation.js';
import { storedEntry } from '../../catalog/stored-catalog.js';
import { timeBetweenWrites, timestampOf } from '../../cluster/cluster-time.js';
import { isVerified } from '../../store/migration-record.js';
import { storeEntries } from '../../store/task-storage.js';
import { carryAccess, carrySettings, planCarry } from './carry.js';
import { keepSourceClosed, restoreSourceBalancer } from './ask-source.js';
import { balancersAfter, planOf, restoreBalancer } from './initialise.js';
import { holdWhileViolated } from './hold-commit.js';
import { leaveViolated } from './skip-indexes.js';
import { refuseLateWrites } from './last-look.js';
import {
  comparisonOf,
  type LeaderDependencies,
  type MigrationDependencies,
  readCommittedCatalog,
  readDestinationCatalog,
} from '../migration/migration-dependencies.js';
import { stepDone } from '../migration/steps.js';
import { noteDifferences, verifyDocuments } from './verification-leader.js';
import { applyWriteBlock, keptClosed } from '../migration/write-blocks.js';

const differencesNamedMax = 5;

/**
 * The leader's steps from the sealed commit time to COMMITTED. A later leader may repeat every step: it reads each
 * attribute before it changes it. After the decision to open, nothing depends on the source.
 */
export async function commit(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { records, watch, fleet, runtime, leaderEpoch } = deps;
  const { phase, attributesRestoring } = (await watch.refresh(signal)).record;
  if (phase === 'committing') {
    // Once the leader restores attributes, only the later look counts.
    if (attributesRestoring !== true) await verifyDocuments(deps, false, signal);
    stepDone('documentsVerified');
    // From here on the destination may expire documents by itself; a later leader's look must allow for that.
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
    // Who lifts the source's block lets writes in, which only a look after it is set again can see.
    do {
      await refuseLateWrites(deps, catalog, signal);
      stepDone('sourceLookedAt');
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
  await restoreBalancer(deps, 'destination', balancersAfter(watch.view.record), signal);
  await restoreSourceBalancer(deps, signal);
  stepDone('balancersRestored');
  await records.updateAsLeader(leaderEpoch, { phase: 'committed' }, signal);
  stepDone('committed');
  runtime.logger.info({ event: 'committed' }, 'the migration is committed');
  fleet.wake();
  await watch.refresh(signal);
}

/** Compares the definitions, restores the deferred attributes, and compares again in the final form. */
async function finishCatalog(deps: LeaderDependencies, catalog: Catalog, signal: AbortSignal): Promise<void> {
  const { records, metadata, watch, leaderEpoch } = deps;
  await holdWhileViolated(deps, () => restore(deps, catalog, signal), signal);
  stepDone('attributesRestored');
  const found = await readDestinationCatalog(deps, signal);
  const differences = compareCatalogs(catalog, found, comparisonOf(deps, 'final'));
  await noteDifferences(deps, differences, signal);
  refuseDifferences(differences);
  if (!watch.view.record.reversal) return;
  await storeEntries(metadata, leaderEpoch, found.map(storedEntry), signal, 'openedCollections');
  await records.noteOpening(leaderEpoch, { openedCatalogEpoch: leaderEpoch }, signal);
}

/** Indexes that documents violate stay plain, if the user has chosen so. */
async function restore(deps: LeaderDependencies, catalog: Catalog, signal: AbortSignal): Promise<void> {
  const { runtime, destination, records, builds, leaderEpoch } = deps;
  const confirm = () => records.confirmLeader(leaderEpoch, signal);
  for (;;) {
    const plan = planOf(deps, catalog);
    const making = { destination, signal, confirm, builds };
    try {
      await runtime.retrying('restore attributes', () => restoreAttributes(making, plan), signal);
      return;
    } catch (error) {
      const isLeft = error instanceof UniqueIndexViolated && (await leaveViolated(deps, plan, error, signal));
      if (!isLeft) throw error;
    }
  }
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

/** @throws ConvoyError `catalogDiffers`, which names some of the differences */
export function refuseDifferences(differences: readonly CatalogDifference[]): void {
  if (differences.length === 0) return;
  const named = differences
    .slice(0, differencesNamedMax)
    .map(({ kind, namespace, detail }) => `${kind} ${namespace} (${detail})`);
  throw new ConvoyError(
    'catalogDiffers',
    `Source and destination differ in ${differences.length} definitions: ${named.join('; ')}.`,
  );
}

function failedBefore({ watch }: MigrationDependencies): ConvoyError {
  const { failure } = watch.view.record;
  return new ConvoyError(failure?.error ?? 'migrationFailed', failure?.errorDescription);
}
