import { SerialQueue } from '../../async/waiting.js';
import type { DestinationPlan } from '../../catalog/destination-plan.js';
import { withSampledRanges } from '../../catalog/distribution.js';
import type { Catalog, CatalogEntry } from '../../catalog/namespace.js';
import { readCollectionByUuid } from '../../catalog/read-catalog.js';
import { sampleTaskBounds } from '../../catalog/task-bounds.js';
import { codeOf, serverErrorCode } from '../../cluster/failure.js';
import { applyDdlChange, type ApplyDdlDependencies } from '../../ddl/apply-ddl-change.js';
import type { DdlLedger } from '../../ddl/ddl-ledger.js';
import type { LedDestination } from '../../ddl/destination-collections.js';
import type { DdlEntry } from '../../store/ddl-journal.js';
import { planOf, withRequestedSharding } from '../migration/migration-catalogs.js';
import { filterOf, type MigrationDependencies, remapOf } from '../migration/migration-dependencies.js';
import { allTasks } from '../../store/migration-view.js';

/** A running index build, or a router that does not know of a change yet, resolves within moments. */
const applyAgain_ms = 500;

/** Applies the DDL journal on the destination, one entry after the other. */
export class JournalApplier {
  readonly #turn = new SerialQueue();

  constructor(
    private readonly deps: MigrationDependencies,
    private readonly ledger: DdlLedger,
    private readonly destination: LedDestination,
  ) {}

  /** Runs work while no entry is being applied. */
  exclusively(work: () => Promise<void>): Promise<void> {
    return this.#turn.run(work);
  }

  /** Applies the entries that all tasks have acknowledged, in order, until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { runtime, watch, fleet } = this.deps;
    const { ledger } = this;
    for (;;) {
      await ledger.changed.until(() => ledger.next !== undefined, signal);
      const ddlChange = ledger.next;
      if (ddlChange === undefined) continue;
      fleet.wake();
      await watch.until((view) => allTasks(view, ({ acknowledged }) => acknowledged >= ddlChange.ordinal), signal);
      await this.exclusively(async () => {
        const result = await runtime.retrying('apply a DDL change', () => this.#apply(ddlChange, signal), signal);
        await ledger.finish(result, signal);
      });
      const { operation, database, name, ordinal } = ddlChange;
      runtime.logger.info(
        { event: 'ddlChangeApplied', ordinal, operation, database, name },
        'the leader applied a DDL change',
      );
      fleet.wake();
    }
  }

  async #apply(ddlChange: DdlEntry, signal: AbortSignal): ReturnType<typeof applyDdlChange> {
    const { deps } = this;
    const { record } = deps.watch.view;
    const applying: ApplyDdlDependencies = {
      ...this.destination,
      filter: filterOf(record),
      remap: remapOf(record),
      readSource: (database, uuid, each) => readSourceCollection(deps, database, uuid, each),
      plan: (entry, each) => planNewCollection(deps, entry, each),
      entryOf: (uuid) => this.ledger.collections.get(uuid) ?? null,
    };
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await applyDdlChange(applying, ddlChange, signal);
      } catch (error) {
        // The server renames no collection while it builds indexes.
        if (codeOf(error) !== serverErrorCode.backgroundOperationInProgress) throw error;
        if (attempts === 1) this.#logWaiting(ddlChange);
        await deps.runtime.clock.sleep(applyAgain_ms, signal);
      }
    }
  }

  #logWaiting({ ordinal, operation, database, name }: DdlEntry): void {
    this.deps.runtime.logger.warn(
      { event: 'ddlChangeWaits', ordinal, operation, database, name },
      'an index build on the destination delays a DDL change; later DDL changes wait for it',
    );
  }
}

/** One collection of the source as it is now, with its requested shard key and task bounds; null when it is gone. */
export async function readSourceCollection(
  deps: MigrationDependencies,
  database: string,
  uuid: string,
  signal: AbortSignal,
): Promise<CatalogEntry | null> {
  const { source } = deps;
  const entry = await readCollectionByUuid(source, database, uuid, signal);
  if (entry === null) return null;
  const [planned] = withRequestedSharding(deps, [entry]);
  if (planned === undefined || source.access === 'direct') return planned ?? null;
  return { ...planned, taskBounds: await sampleTaskBounds(source, planned, signal) };
}

/**
 * A catalog of the source with the shard keys of the destination. A collection keeps its requested one, even after a
 * rename.
 */
export function withFollowedSharding(
  deps: MigrationDependencies,
  catalog: Catalog,
  followed: ReadonlyMap<string, CatalogEntry>,
): Catalog {
  if (deps.watch.view.record.options.sharding === undefined) return catalog;
  return catalog.flatMap((entry) => {
    const known = followed.get(entry.uuid);
    return known === undefined ? withRequestedSharding(deps, [entry]) : [{ ...entry, sharding: known.sharding }];
  });
}

/** What to create for one collection that appeared during the migration. */
export function planNewCollection(
  deps: MigrationDependencies,
  entry: CatalogEntry,
  signal: AbortSignal,
): Promise<DestinationPlan> {
  return withSampledRanges(planOf(deps, [entry]), deps.source, deps.destination, signal);
}
