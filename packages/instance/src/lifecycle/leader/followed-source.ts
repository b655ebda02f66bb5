import type { Catalog, InconsistentIndex } from '../../catalog/namespace.js';
import { chosenWarning, describeChosen, withChosenIndexes } from '../../catalog/plan/chosen-indexes.js';
import { type CatalogReport, readCatalogReport } from '../../catalog/read/read-catalog.js';
import { refuseUnsupported } from '../../catalog/read/unsupported-collections.js';
import { readSettledCatalog } from '../../preflight/settled-catalog.js';
import { filterOf, type LeaderDependencies } from '../migration/migration-dependencies.js';
import { recordWarning } from '../migration/recorded-warnings.js';
import { forgetSkipped } from './skip-indexes.js';

/** The leader's view of the source's catalog, with the indexes that count by the user's choices. */
export class FollowedSource {
  /** Disagreements of the shards that have lasted: they are read again only once they change. */
  #lasting: readonly InconsistentIndex[] = [];

  constructor(private readonly deps: LeaderDependencies) {}

  /**
   * The catalog as it is now, with the source's shard keys.
   * @throws ConvoyError for collections of kinds that cannot be migrated; `staleEpoch` when another leader has taken
   * over
   */
  async read(signal: AbortSignal): Promise<Catalog> {
    const { runtime, watch } = this.deps;
    const found = await runtime.retrying('read the source catalog', () => this.#report(signal), signal);
    const { report, chosen } = withChosenIndexes(found, watch.view.record.options);
    refuseUnsupported(report);
    await this.#warn(describeChosen(chosen), signal);
    await forgetSkipped(this.deps, report.catalog, signal);
    return report.catalog;
  }

  async #report(signal: AbortSignal): Promise<CatalogReport> {
    const { source, runtime, watch } = this.deps;
    const { record } = watch.view;
    const { indexConflicts = 'refuse' } = record.options;
    if (indexConflicts === 'refuse') return readCatalogReport(source, filterOf(record), signal);
    const report = await readSettledCatalog(source, filterOf(record), runtime.clock, signal, this.#lasting);
    this.#lasting = report.inconsistentIndexes;
    return report;
  }

  async #warn(description: string | null, signal: AbortSignal): Promise<void> {
    const { watch, runtime } = this.deps;
    const recorded = watch.view.record.warnings.find(({ name }) => name === chosenWarning)?.description ?? null;
    if (description === recorded) return;
    if (description !== null)
      runtime.logger.warn({ event: 'indexesChosen', description }, 'the choices of the start count for indexes');
    await recordWarning(this.deps, chosenWarning, description, signal);
  }
}
