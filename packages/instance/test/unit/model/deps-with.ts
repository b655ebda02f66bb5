import type { Fleet } from '@convoy/api/fleet/fleet';
import { only } from '../../../../../test/only.js';
import type { Clock } from '../../../src/async/clock.js';
import type { InstanceConfig } from '../../../src/config/instance-schema.js';
import type { LeaderDependencies } from '../../../src/lifecycle/migration/migration-dependencies.js';
import type { MigrationWatch } from '../../../src/store/migration-watch.js';
import type { Runtime } from '../../../src/lifecycle/migration/runtime.js';
import type { Logger } from '../../../src/logging/logger.js';
import { Metadata } from '../../../src/store/metadata.js';
import type { MigrationRecords } from '../../../src/store/migration-record.js';
import type { TaskRecords } from '../../../src/store/task-record.js';

/** What a test gives of a runtime. */
interface GivenRuntime extends Partial<Pick<Runtime, 'retrying'>> {
  clock?: Partial<Clock>;
  logger?: Partial<Logger>;
  config?: Partial<InstanceConfig>;
}

/** What a test gives of the parts of a migration. */
interface Given extends Partial<
  Pick<LeaderDependencies, 'source' | 'destination' | 'onIndexProgress' | 'leaderEpoch' | 'builds'>
> {
  runtime?: GivenRuntime;
  fleet?: Partial<Fleet>;
  metadata?: Metadata | Partial<Metadata>;
  records?: Partial<MigrationRecords>;
  taskRecords?: Partial<TaskRecords>;
  watch?: Partial<MigrationWatch>;
}

/** A runtime with some members of its parts; the use of another one is an error that names it. */
export function runtimeWith({ clock = {}, logger = {}, config = {}, ...rest }: GivenRuntime): Runtime {
  return only<Runtime>({
    clock: only<Clock>(clock),
    logger: only<Logger>(logger),
    config: only<InstanceConfig>(config),
    ...rest,
  });
}

/** The dependencies of a migration, with some members of each; the use of another one is an error that names it. */
export function depsWith({
  runtime = {},
  fleet = {},
  metadata = {},
  records = {},
  taskRecords = {},
  watch = {},
  ...rest
}: Given): LeaderDependencies {
  return only<LeaderDependencies>({
    runtime: runtimeWith(runtime),
    fleet: only<Fleet>(fleet),
    metadata: metadata instanceof Metadata ? metadata : only<Metadata>(metadata),
    records: only<MigrationRecords>(records),
    taskRecords: only<TaskRecords>(taskRecords),
    watch: only<MigrationWatch>(watch),
    ...rest,
  });
}
