import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { blockedClusters } from '@convoy/api/contract/write-blocking';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Retrying } from '../async/retry.js';
import { type OwnZones, removeOwnZones } from '../catalog/place-chunks.js';
import { restoreBalancer } from '../cluster/balancer.js';
import { classify } from '../cluster/failure.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { SessionFence } from '../store/fence.js';
import { metadataDatabase } from '../store/metadata.js';
import type { MigrationRecord, MigrationRecords } from '../store/migration-record.js';
import { swapsOf } from '../store/reversal.js';
import type { TaskRecords } from '../store/task-record.js';

/** One step of a cleanup: its title, and what it does. Each step may be repeated. */
export interface CleanupStep {
  description: string;
  run(signal: AbortSignal): Promise<void>;
}

/** What a cleanup works on. */
export interface Remains {
  /** Null if the metadata database holds no migration. */
  record: MigrationRecord | null;
  source: ClusterClient | null;
  destination: ClusterClient;
  /** The cluster that holds the state, and the other one if any state is on it. */
  home: ClusterClient;
  other: ClusterClient | null;
  records: MigrationRecords;
  tasks: TaskRecords;
  zones: OwnZones;
  /** Names of the collections of the metadata database on either cluster. */
  metadata: { home: readonly string[]; other: readonly string[] };
  retrying: Retrying;
  /**
   * Lifts a cluster's block of user writes. @throws ConvoyError `writeBlockingFailed` if the cluster refuses, with what
   * to do
   */
  allowWrites(cluster: ClusterClient, signal: AbortSignal): Promise<void>;
}

/**
 * All steps in order. The metadata goes last, so that a rerun finds an interrupted cleanup. An operator may take long
 * between the plan and its execution: every step throws ConvoyError `migrationLives` if a migration is running by then.
 */
export function cleanupSteps(remains: Remains): CleanupStep[] {
  const { zones, destination, records } = remains;
  const steps =
    remains.record === null
      ? []
      : remains.record.phase === 'committed'
        ? endReversalSteps(remains, remains.record)
        : abandonSteps(remains, remains.record);
  if (zones.ranges.length + zones.shards.length > 0) {
    steps.push({
      description: `Remove ${zones.ranges.length} zone ranges of Convoy from ${destination.name}.`,
      run: (signal) => removeOwnZones(destination, zones, signal),
    });
  }
  steps.push(...dropSteps(remains));
  return steps.map((step, index) => ({
    description: step.description,
    run: async (signal) => {
      if (index === 0 && remains.record !== null) await giveUp(records, remains.record, signal);
      refuseAtWork(await records.read(signal));
      await step.run(signal);
    },
  }));
}

/**
 * Decides between the cleanup and a commit, in the same way as between a failure and a commit: from here on no process
 * opens the destination. If the migration has progressed since the plan was made, the operator has not agreed to this
 * state.
 */
async function giveUp(records: MigrationRecords, planned: MigrationRecord, signal: AbortSignal): Promise<void> {
  if (planned.phase === 'committed') {
    if (planned.reversal && !(await records.endReversal(signal)))
      throw new ConvoyError('migrationLives', 'The migration is being reversed since the plan was made.');
    return;
  }
  if (planned.failure !== null) return;
  await records.fail({ error: 'migrationFailed', errorDescription: 'It was given up with convoy cleanup.' }, signal);
  const record = await records.read(signal);
  if (record !== null && record.phase !== planned.phase)
    throw new ConvoyError(
      'migrationLives',
      'The migration has progressed since the plan was made. Run the cleanup again.',
    );
}

function refuseAtWork(record: MigrationRecord | null): void {
  if (record === null || record.failure !== null || record.phase === 'committed') return;
  throw new ConvoyError(
    'migrationLives',
    'A migration was started since the plan was made: let it end, or stop all its instances first.',
  );
}

/**
 * The users that a migration needs may drop collections but not databases; a database without collections does not
 * exist.
 */
async function dropMetadata({ router }: ClusterClient, names: readonly string[], signal: AbortSignal): Promise<void> {
  const recordLast = [...names].sort((a, b) => Number(a === 'migration') - Number(b === 'migration'));
  for (const name of recordLast) {
    const drop = { drop: name, writeConcern: { w: 'majority' } };
    await router.command(metadataDatabase, drop, { signal }).catch((error: unknown) => {
      if (classify(error) !== 'notFound') throw error;
    });
  }
}

/** The collection with the migration's record goes last. */
function dropSteps({ home, other, metadata }: Remains): CleanupStep[] {
  const places = [
    { cluster: other, names: metadata.other },
    { cluster: home, names: metadata.home },
  ];
  return places.flatMap(({ cluster, names }) => {
    if (cluster === null || names.length === 0) return [];
    return {
      description: `Drop all collections of ${metadataDatabase} on ${cluster.name}.`,
      run: (signal) => dropMetadata(cluster, names, signal),
    };
  });
}

/** While a committed migration could be reversed, the balancer of its destination stayed off. */
function endReversalSteps({ destination }: Remains, { reversal, balancers }: MigrationRecord): CleanupStep[] {
  return reversal && balancers?.destination === true
    ? [startBalancer(destination, balancers.autoMergersOff?.destination)]
    : [];
}

function startBalancer(cluster: ClusterClient, autoMergerOff = false): CleanupStep {
  return {
    description: `Start the balancer of ${cluster.name}, which was on before the migration.`,
    run: (signal) => restoreBalancer(cluster, { enabled: true, autoMergerOff }, { signal }),
  };
}

/** Steps for an unfinished migration: no process may continue it, and the clusters return to their former state. */
function abandonSteps(remains: Remains, record: MigrationRecord): CleanupStep[] {
  const { source, destination } = remains;
  const blocks = blockedClusters(record.options.enableUserWriteBlocking);
  const sides = [
    {
      cluster: source,
      blocked: blocks.source && record.phase === 'committing' && !record.sourceReleased,
      balanced: record.balancers?.source === true,
      autoMergerOff: record.balancers?.autoMergersOff?.source,
    },
    // The commit of a reversed migration closed the former source, which stays closed.
    {
      cluster: destination,
      blocked: blocks.destination && swapsOf(record) === 0,
      balanced: record.balancers?.destination === true,
      autoMergerOff: record.balancers?.autoMergersOff?.destination,
    },
  ];
  const steps: CleanupStep[] = [
    {
      description: 'Prevent frozen or isolated processes of the migration from writing.',
      run: (signal) => fenceOwners(remains, signal),
    },
  ];
  for (const { cluster, blocked, balanced, autoMergerOff } of sides) {
    if (cluster === null) continue;
    if (balanced) steps.push(startBalancer(cluster, autoMergerOff));
    if (blocked) {
      steps.push({
        description: `Allow the writes of users on ${cluster.name}.`,
        run: (signal) => remains.allowWrites(cluster, signal),
      });
    }
  }
  return steps;
}

async function fenceOwners({ records, tasks, destination, retrying }: Remains, signal: AbortSignal): Promise<void> {
  await records.takeLeaderEpoch(signal);
  const fence = new SessionFence(destination, retrying);
  const present = await destination.router.command(metadataDatabase, { count: 'fence' }, { signal });
  for (const { _id } of await tasks.readAll(signal)) {
    const task = await tasks.take(_id, { syncID: _id, incarnation: 'cleanup' }, 0, signal);
    if (Number(present.n) < destination.shardIds.length) continue;
    await fence.stopFormerOwner(
      task.sessions.map((session) => session.value()),
      task.epoch,
      signal,
    );
  }
}

const poll_ms = 200;

/**
 * Asks the processes of a migration whether they are running, through the record that all of them read once a second.
 * @param answerWithin_ms how long an answer may take
 * @returns the sync tasks whose process has answered, as soon as any has; none after the time
 */
export async function checkMembers(
  records: MigrationRecords,
  tasks: TaskRecords,
  answerWithin_ms: number,
  signal: AbortSignal,
): Promise<string[]> {
  const call = randomUUID();
  await records.checkMembers(call, signal);
  const end_ms = performance.now() + answerWithin_ms;
  for (;;) {
    const present = (await tasks.readAll(signal)).filter((task) => task.present === call).map(({ _id }) => _id);
    if (present.length > 0 || performance.now() > end_ms) return present;
    await wait(poll_ms, undefined, { signal });
  }
}
