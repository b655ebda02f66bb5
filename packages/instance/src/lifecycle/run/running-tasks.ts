import type { NamespacePart } from '@convoy/api/fleet/published-details';
import type { MigrationView } from '../migration/migration-watch.js';
import { isVerified } from '../../store/migration-record.js';
import type { TaskStats } from '../stats/task-stats.js';
import type { VerificationStats } from '../stats/verification-stats.js';
import type { SyncPipeline } from '../task/sync-pipeline.js';
import type { VerifiedTask } from '../task/verification-task.js';

/** What the pipelines and verifiers of the own tasks show, and what they showed last when they do not run. */
export class RunningTasks {
  #syncs: readonly SyncPipeline[] = [];
  #verified: readonly VerifiedTask[] = [];
  #stats: readonly TaskStats[] = [];
  #namespaceParts: readonly NamespacePart[] = [];

  constructor(private readonly ids: readonly string[]) {}

  begin(syncs: readonly SyncPipeline[], verified: readonly VerifiedTask[]): void {
    [this.#syncs, this.#verified] = [syncs, verified];
  }

  end(): void {
    this.#stats = this.liveStats;
    this.namespaceParts();
    this.begin([], []);
  }

  /** The last known ones while none runs. */
  get stats(): readonly TaskStats[] {
    if (this.#syncs.length > 0) this.#stats = this.liveStats;
    return this.#stats;
  }

  /** Of the tasks that run now. */
  get liveStats(): readonly TaskStats[] {
    return this.#syncs.map((sync) => sync.stats());
  }

  /** Of the verifiers, the last stored ones while they do not run; null without verification. */
  verification({ record, tasks }: MigrationView): readonly (VerificationStats | null)[] | null {
    if (!isVerified(record)) return null;
    return this.ids.map(
      (id) => this.#verified.find(({ taskId }) => taskId === id)?.stats() ?? tasks.get(id)?.verification?.stats ?? null,
    );
  }

  /** What has been copied of each collection; the last known while none runs. */
  namespaceParts(): readonly NamespacePart[] {
    if (this.#syncs.length > 0) this.#namespaceParts = this.#syncs.flatMap((sync) => sync.namespaceParts());
    return this.#namespaceParts;
  }
}
