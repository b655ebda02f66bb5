import type { Warning } from '@convoy/api/contract/progress';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { toConvoyError } from '@convoy/api/errors/convoy-error';
import type { Fleet } from '@convoy/api/fleet/fleet';
import type { Catalog } from '../../catalog/namespace.js';
import { currentTime } from '../../cluster/cluster-time.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { shownName } from '../../cluster/time-series.js';
import { checkJoin, checkStart, type StartCheck } from '../../preflight/check-start.js';
import { noFindings, type PreflightReport } from '../../preflight/examination.js';
import { firstEpochAt } from '../../store/fence.js';
import { Metadata } from '../../store/metadata.js';
import { type MigrationRecord, MigrationRecords, type NewMigration } from '../../store/migration-record.js';
import { type Connect, openPlannedSource, planReversal } from '../migration/clusters.js';
import type { Runtime } from '../migration/runtime.js';

/** The log names this many of the matched namespaces, and counts the rest. */
const namespacesLoggedMax = 1_000;

export interface RequestedMigration {
  runtime: Runtime;
  fleet: Fleet;
  /** Of this process. */
  release: string;
  connect: Connect;
  request: StartRequest;
  source: ClusterClient;
  destination: ClusterClient;
  /** What a peer, or an earlier call, has recorded before. */
  recorded: MigrationRecord | null;
  signal: AbortSignal;
}

/**
 * Checks that the migration may start, and records it, or joins the one that a peer has recorded with the same options.
 * @throws ConvoyError with what `checkStart` refuses; `optionsDiffer`, `migrationExists` for another recorded one
 */
export async function recordMigration(requested: RequestedMigration): Promise<MigrationRecord> {
  const { runtime, fleet, destination, signal } = requested;
  const records = new MigrationRecords(new Metadata(destination.router, runtime.retrying));
  const warnings = requested.recorded === null ? await checkUnlessRecorded(requested, records) : null;
  if (warnings !== null) {
    const time = await runtime.retrying(
      'take a cluster time of the destination',
      () => currentTime(destination.router, { signal }),
      signal,
    );
    return records.begin({ ...(await newMigration(requested, warnings)), firstEpoch: firstEpochAt(time) }, signal);
  }
  // Of an accepted start watchers keep no findings of a part of the checks, nor an earlier refusal.
  const onReport = (report: PreflightReport) =>
    report.canStart ? fleet.publishDetails('preflight', noFindings) : publish(requested, report);
  await checkJoin({ ...checkOf(requested), onReport });
  return records.join(await newMigration(requested, []), signal);
}

/** @returns the warnings for a new migration; null when a peer has recorded it meanwhile, which made a check fail */
async function checkUnlessRecorded(
  requested: RequestedMigration,
  records: MigrationRecords,
): Promise<Warning[] | null> {
  const { runtime, signal } = requested;
  const reports: PreflightReport[] = [];
  const publishAll = () => reports.forEach((report) => publish(requested, report));
  try {
    const check = await checkStart({ ...checkOf(requested), onReport: (report) => void reports.push(report) });
    publishAll();
    logMatched(runtime, check.sourceCatalog);
    return check.warnings;
  } catch (error) {
    // Only this refusal is a peer's doing: nothing is created on the destination before all have joined.
    const isOfPeer = toConvoyError(error).error === 'migrationExists' && (await records.read(signal)) !== null;
    if (isOfPeer) return null;
    publishAll();
    throw error;
  }
}

function publish({ runtime, fleet }: RequestedMigration, report: PreflightReport): void {
  fleet.publishDetails('preflight', { at_ms: runtime.clock.now_ms(), ...report });
}

function checkOf(requested: RequestedMigration): StartCheck {
  const { runtime, source, destination, request, recorded, connect, signal } = requested;
  const { syncUser, memoryBytesMax, partition_seconds } = runtime.config;
  return {
    openNextSource: () => openPlannedSource(runtime, destination, recorded, connect, signal),
    source,
    destination,
    request,
    signal,
    memoryBytesMax,
    partition_seconds,
    clock: runtime.clock,
    ...(syncUser === undefined ? {} : { syncUser }),
  };
}

async function newMigration(requested: RequestedMigration, warnings: Warning[]): Promise<NewMigration> {
  const { runtime, release, connect, request, source, destination, recorded, signal } = requested;
  return {
    release,
    options: request,
    source: { name: source.name, clusterId: source.clusterId },
    destination: { name: destination.name, clusterId: destination.clusterId },
    access: source.access,
    taskIds: [...source.shardIds],
    destinationShards: [...destination.shardIds],
    warnings,
    reversal: request.reversible
      ? await planReversal(runtime, { source, destination }, recorded, connect, signal)
      : null,
  };
}

/** Logs what a migration's filter matches on the source. */
function logMatched({ logger }: Runtime, catalog: Catalog): void {
  const namespaces = catalog.slice(0, namespacesLoggedMax).map(shownName);
  logger.info(
    { event: 'filterMatched', matched: catalog.length, namespaces },
    'namespaces of the source that the filter matches',
  );
}
