import { type Catalog, namespaceOf } from '../../catalog/namespace.js';
import { isUnordered } from '../../catalog/task-bounds.js';
import type { CollectionToVerify } from '../../verify/embedded/verification-plan.js';
import type { CatalogToVerify } from '../../verify/embedded/verifier-dependencies.js';
import { followedCatalog, type FollowedEntry } from './followed-catalog.js';
import {
  filterOf,
  type MigrationDependencies,
  readStartCatalog,
  remapOf,
} from '../migration/migration-dependencies.js';
import { taskCollection, type TaskChoice } from './task-collections.js';

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
      namespace: namespaceOf(entry),
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
