import type { RawValue } from '../../bson/scan.js';
import { isLossless } from '../../bson/sent-value.js';
import type { Catalog } from '../../catalog/namespace.js';
import { isUnordered } from '../../catalog/task-bounds.js';
import { codeOf } from '../../cluster/failure.js';
import { evenBounds, sampleIds } from '../../cluster/sample-ids.js';
import { shownName } from '../../cluster/time-series.js';
import { partitionsName } from '../../store/task-storage.js';
import type {
  CatalogToVerify,
  CollectionToVerify,
  MigrationToVerify,
} from '../../verify/embedded/verification-plan.js';
import { readStartCatalog } from '../migration/migration-catalogs.js';
import { filterOf, type MigrationDependencies, remapOf } from '../migration/migration-dependencies.js';
import { allTasks, isCommitAwaited, isDraining } from '../../store/migration-view.js';
import type { TaskRecord } from '../../store/task-record.js';
import { followedCatalog, type FollowedEntry } from './followed-collections.js';
import type { SyncPipeline } from './sync-pipeline.js';
import { type TaskChoice, taskCollection } from './task-collections.js';

/** A part with fewer bytes costs more than it gains. */
const partBytesMin = 32 * 2 ** 20;
const partsPerTaskMax = 8;
const samplesPerPart = 16;

/** A migration, as the verifier of one sync task sees it. */
export class ObservedMigration implements MigrationToVerify {
  readonly #catalog: VerificationCatalog;

  constructor(
    private readonly deps: MigrationDependencies,
    private readonly sync: SyncPipeline,
  ) {
    this.#catalog = new VerificationCatalog(deps);
  }

  catalog(signal: AbortSignal): Promise<CatalogToVerify> {
    return this.#catalog.read(signal);
  }

  /** The own stats are ahead of the record by a checkpoint. A commit waits for verification: nothing holds it back. */
  get isCopyDone(): boolean {
    const { record, tasks } = this.deps.watch.view;
    const isDone = (id: string) => (id === this.sync.taskId ? this.sync.copyDone : tasks.get(id)?.copyDone === true);
    return record.phase !== 'syncing' || record.taskIds.every(isDone);
  }

  /** What ends the own copy is recorded, and the record is read again. */
  untilCopyDone(signal: AbortSignal): Promise<unknown> {
    return this.deps.watch.until(() => this.isCopyDone, signal);
  }

  untilPlanned(ordinal: number, signal: AbortSignal): Promise<unknown> {
    const isPlanned = ({ verification }: TaskRecord) => (verification?.planned ?? -1) >= ordinal;
    return this.deps.watch.until((view) => allTasks(view, isPlanned), signal);
  }

  async copied(collections: readonly CollectionToVerify[], signal: AbortSignal): Promise<Set<string>> {
    const notDone = { $elemMatch: { state: { $ne: 'done' } } };
    const names = collections.flatMap(({ copy, copyTasks }) => copyTasks.map((task) => partitionsName(task, copy)));
    const done = await this.deps.metadata.findNames(
      'partitions',
      { _id: { $in: names }, partitions: { $ne: null, $not: notDone } },
      signal,
    );
    const found = new Set(done.map(({ task, copy }) => partitionsName(task, copy)));
    return new Set(
      collections
        .filter(({ copy, copyTasks }) => copyTasks.every((task) => found.has(partitionsName(task, copy))))
        .map(({ key }) => key),
    );
  }

  get appliedTime(): bigint {
    const applied = [...this.deps.watch.view.tasks.values()].map(({ checkpoint }) => checkpoint?.toBigInt() ?? 0n);
    return applied.reduce<bigint | null>((a, b) => (a === null || b < a ? b : a), null) ?? 0n;
  }

  get applyLag_seconds(): number {
    return this.deps.watch.view.record.phase === 'syncing' ? this.sync.stats().lag_seconds : 0;
  }

  get isDraining(): boolean {
    return isDraining(this.deps.watch.view, this.sync.taskId);
  }

  /** A commit time holds the position back: an apparent lag from then on is none. */
  get isCommitAwaited(): boolean {
    return isCommitAwaited(this.deps.watch.view);
  }

  /** Sampling serves speed alone. */
  async boundsOf({ on, sizeBytes }: CollectionToVerify, signal: AbortSignal): Promise<RawValue[]> {
    const { runtime, source } = this.deps;
    const count = Math.min(source.shardIds.length * partsPerTaskMax, Math.floor(sizeBytes / partBytesMin));
    if (count < 2) return [];
    const { database, name } = on.source;
    const sampled = await runtime
      .retrying('sample _ids', () => sampleIds(source.router, database, name, count * samplesPerPart, signal), signal)
      .catch((error: unknown) => {
        if (codeOf(error) === null) throw error;
        return [];
      });
    return evenBounds(sampled.filter(isLossless), count);
  }
}

/** The last digits of a UUID are random: they assign collections to tasks. */
const dealtDigits = 8;

/** The collections of a migration, as its verifiers see them. */
export class VerificationCatalog {
  #atStart: Catalog | null = null;
  #last: CatalogToVerify | null = null;

  constructor(private readonly deps: MigrationDependencies) {}

  /** After the DDL changes that are applied now. */
  async read(signal: AbortSignal): Promise<CatalogToVerify> {
    const { watch, journal } = this.deps;
    const { done } = watch.view.record.ddlChanges;
    if (this.#last?.ordinal === done) return this.#last;
    this.#atStart ??= await readStartCatalog(this.deps, signal);
    const ddlChanges = await journal.readAfter(0, done, signal);
    const { entries } = followedCatalog(this.#atStart, ddlChanges);
    const choice = { filter: filterOf(watch.view.record), remap: remapOf(watch.view.record) };
    this.#last = {
      ordinal: done,
      collections: entries.flatMap((followed) =>
        followed.entry.type === 'collection' ? [this.#verified(followed, choice)] : [],
      ),
    };
    return this.#last;
  }

  #verified(followed: FollowedEntry, choice: TaskChoice): CollectionToVerify {
    const { source } = this.deps;
    const { entry, copy, notBefore } = followed;
    return {
      key: `${copy}@${notBefore}`,
      copy,
      copyTasks: source.shardIds.filter((id) => taskCollection(followed, id, source, choice) !== null),
      namespace: shownName(entry),
      on: { source: { database: entry.database, name: entry.name }, destination: choice.remap.toDestination(entry) },
      unordered: isUnordered(entry),
      capped: entry.options.capped === true,
      documentFilter: choice.filter.documentFilter(entry.database, entry.name),
      sizeBytes: entry.sizeBytes,
      documentCount: Math.round(entry.documentCount),
      planner: Number.parseInt(entry.uuid.slice(-dealtDigits), 16) % source.shardIds.length,
    };
  }
}

/** The copy that a comparison is of, by its key. */
export function copyOfKey(key: string): string {
  return key.slice(0, key.lastIndexOf('@'));
}
