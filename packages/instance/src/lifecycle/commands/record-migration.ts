import type { StartRequest } from '@convoy/api/contract/start-request';
import type { Fleet } from '@convoy/api/fleet/fleet';
import type { ClusterClient } from '../../cluster/node-client.js';
import { checkStart } from '../../preflight/check-start.js';
import type { PreflightReport } from '../../preflight/report.js';
import { Metadata } from '../../store/metadata.js';
import { type MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import type { Connect } from '../migration/clusters.js';
import { planReversal } from '../migration/next-source.js';
import { logMatched } from './log-matched.js';
import type { Runtime } from '../migration/runtime.js';

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
 * @throws ConvoyError with what `checkStart` refuses, `optionsDiffer`
 */
export async function recordMigration(requested: RequestedMigration): Promise<MigrationRecord> {
  const { runtime, fleet, release, connect, request, source, destination, recorded, signal } = requested;
  const { syncUser, memoryBytesMax } = runtime.config;
  const records = new MigrationRecords(new Metadata(destination.router, runtime.retrying));
  const onReport = (report: PreflightReport): void =>
    fleet.publishDetails('preflight', { at_ms: runtime.clock.now_ms(), ...report });
  const input = {
    source,
    destination,
    request,
    signal,
    memoryBytesMax,
    onReport,
    clock: runtime.clock,
    ...(syncUser === undefined ? {} : { syncUser }),
  };
  const check = await checkStart({ ...input, alreadyRecorded: recorded !== null }).catch(async (error: unknown) => {
    // A peer that started at the same moment may have recorded the migration meanwhile: this instance then joins it.
    if (recorded !== null || (await records.read(signal)) === null) throw error;
    return checkStart({ ...input, alreadyRecorded: true });
  });
  logMatched(runtime.logger, check.sourceCatalog);
  return records.begin(
    {
      release,
      options: request,
      source: { name: source.name, clusterId: source.clusterId },
      destination: { name: destination.name, clusterId: destination.clusterId },
      access: source.access,
      taskIds: [...source.shardIds],
      destinationShards: [...destination.shardIds],
      warnings: check.warnings,
      reversal: request.reversible
        ? await planReversal(runtime, { source, destination }, recorded, connect, signal)
        : null,
    },
    signal,
  );
}
