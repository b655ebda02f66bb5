import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { Timestamp } from 'mongodb';
import { BuildsUnderWay } from '../../../../src/catalog/index-builds.js';
import { systemClock } from '../../../../src/async/clock.js';
import { parseInstanceConfig } from '../../../../src/config/instance-config.js';
import type {
  LeaderDependencies,
  MigrationDependencies,
} from '../../../../src/lifecycle/migration/migration-dependencies.js';
import { MigrationWatch } from '../../../../src/store/migration-watch.js';
import { createRuntime } from '../../../../src/lifecycle/migration/runtime.js';
import { createLogger } from '../../../../src/logging/logger.js';
import { Metrics } from '../../../../src/metrics/metrics.js';
import { DdlJournal } from '../../../../src/store/ddl-journal.js';
import { MigrationRecords } from '../../../../src/store/migration-record.js';
import { TaskRecords } from '../../../../src/store/task-record.js';
import { metadataIn, MetadataModel } from '../../model/metadata-model.js';
import { never } from '../../model/parts.js';

export const leaderEpoch = 1;

type Stored = Pick<MigrationDependencies, 'metadata' | 'records' | 'taskRecords' | 'journal'>;

/** A running migration under its first leader, in a model of the metadata database. */
export async function syncingMigration(taskIds: string[]): Promise<Stored> {
  const metadata = metadataIn(new MetadataModel());
  const records = new MigrationRecords(metadata);
  const options = parseStartRequest({ source: 'cluster0', destination: 'cluster1', verification: { enabled: false } });
  await records.begin(
    {
      release: '1',
      options,
      source: { name: 'cluster0', clusterId: '0a' },
      destination: { name: 'cluster1', clusterId: '0b' },
      access: 'direct',
      taskIds,
      warnings: [],
    },
    never,
  );
  await records.takeLeaderEpoch(never);
  await records.updateAsLeader(
    leaderEpoch,
    { phase: 'syncing', catalogEpoch: leaderEpoch, startTime: new Timestamp({ t: 90, i: 1 }) },
    never,
  );
  return { metadata, records, taskRecords: new TaskRecords(metadata), journal: new DdlJournal(metadata, records) };
}

/** The dependencies of its leader, in a process of its own. */
export async function depsOf(
  stored: Stored,
  clusters: Pick<MigrationDependencies, 'source' | 'destination'>,
): Promise<LeaderDependencies> {
  const config = parseInstanceConfig({ flags: { cluster0: 'mongodb://source', cluster1: 'mongodb://destination' } });
  const runtime = createRuntime(
    config,
    systemClock,
    createLogger({ verbosity: 'FATAL' }),
    new Metrics({ processMetrics: false }),
  );
  const fleet = new LoneFleet();
  const record = await stored.records.read(never);
  if (record === null) throw new Error('no record');
  const watch = new MigrationWatch(
    stored.records,
    stored.taskRecords,
    fleet,
    runtime,
    { record, tasks: new Map() },
    [],
  );
  await watch.refresh(never);
  const builds = new BuildsUnderWay(runtime.clock);
  return { runtime, fleet, ...clusters, ...stored, watch, onIndexProgress: () => undefined, leaderEpoch, builds };
}
