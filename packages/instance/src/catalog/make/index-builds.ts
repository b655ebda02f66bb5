import type { CollectionPlan } from '../plan/destination-plan.js';

/** Progress of the index builds; the names are those of `progress.indexBuilding`. */
export interface IndexBuildProgress {
  indexesBuilt: number;
  totalIndexesToBuild: number;
  collectionsFinished: number;
  collectionsTotal: number;
}

/** Counts the indexes of planned collections as they are built, in their form before the commit. */
export class IndexBuilds {
  readonly #progress: IndexBuildProgress;

  /** @param onProgress called at once, and after every finished collection */
  constructor(
    plans: readonly CollectionPlan[],
    private readonly onProgress: ((progress: IndexBuildProgress) => void) | undefined,
  ) {
    this.#progress = {
      indexesBuilt: 0,
      totalIndexesToBuild: plans.reduce((sum, plan) => sum + indexesOf(plan), 0),
      collectionsFinished: 0,
      collectionsTotal: plans.length,
    };
    this.#report();
  }

  finish(plan: CollectionPlan): void {
    this.#progress.indexesBuilt += indexesOf(plan);
    this.#progress.collectionsFinished += 1;
    this.#report();
  }

  #report(): void {
    this.onProgress?.({ ...this.#progress });
  }
}

function indexesOf({ indexes }: CollectionPlan): number {
  return indexes.filter(({ temporary }) => temporary !== null).length;
}
