import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { chosenWarning, describeChosen, withChosenIndexes } from '../../catalog/chosen-indexes.js';
import { nameSome } from '../../catalog/name-some.js';
import type { Catalog, InconsistentIndex } from '../../catalog/namespace.js';
import { type CatalogReport, readCatalogReport, readSettledCatalog } from '../../catalog/read-catalog.js';
import { describeLeftOut, refuseUnsupported, timeSeriesWarning } from '../../catalog/unsupported-collections.js';
import { blindViewsWarning, describeBlindViews } from '../../catalog/views.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { listShards } from '../../cluster/topology.js';
import { filterOf, type LeaderDependencies, recordWarning } from '../migration/migration-dependencies.js';
import type { Runtime } from '../migration/runtime.js';
import { forgetSkipped } from './builds.js';

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
    await this.#warn(chosenWarning, describeChosen(chosen), signal);
    await this.#warn(timeSeriesWarning, describeLeftOut(report), signal);
    await this.#warn(blindViewsWarning, this.#blindViews(report), signal);
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

  /** A user may create a view of what the filter excludes. */
  #blindViews({ catalog, timeSeries }: CatalogReport): string | null {
    const { includeNamespaces, excludeNamespaces } = this.deps.watch.view.record.options;
    if (includeNamespaces.length + excludeNamespaces.length === 0) return null;
    return describeBlindViews(catalog, timeSeries);
  }

  /** @param description null when there is nothing to warn of any more */
  async #warn(warning: string, description: string | null, signal: AbortSignal): Promise<void> {
    const { watch, runtime } = this.deps;
    const recorded = watch.view.record.warnings.find(({ name }) => name === warning)?.description ?? null;
    if (description === recorded) return;
    if (description !== null && warning === chosenWarning)
      runtime.logger.warn({ event: 'indexesChosen', description }, 'the choices of the start count for indexes');
    if (description !== null && warning === timeSeriesWarning)
      runtime.logger.warn({ event: 'timeSeriesLeftOut', description }, 'a new time series is not migrated');
    if (description !== null && warning === blindViewsWarning)
      runtime.logger.warn({ event: 'viewSourceLeftOut', description }, 'a view reads what the filter excludes');
    await recordWarning(this.deps, warning, description, signal);
  }
}

/**
 * Compares the shards of both clusters with those at the start. Nobody reads a shard that joins a source which is read
 * from its shards, and no fence covers one that joins the destination. The changes of a shard that leaves the source
 * are lost for a stream that is opened again. Routers read shards that join: the leader records them, since they may
 * not leave either.
 * @throws ConvoyError `topologyChanged` that names the shards
 */
export async function refuseOtherShards(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, source, destination, records, watch, leaderEpoch } = deps;
  const { destinationShards, joinedShards = [] } = watch.view.record;
  if (destinationShards !== undefined)
    refuse(destination, changed(destinationShards, await shardsOf(runtime, destination, signal)));
  const present = await shardsOf(runtime, source, signal);
  const { joined, left } = changed([...source.shardIds, ...joinedShards], present);
  refuse(source, { joined: source.access === 'direct' ? joined : [], left });
  if (joined.length === 0) return;
  await records.updateAsLeader(leaderEpoch, { joinedShards: [...joinedShards, ...joined] }, signal);
  await watch.refresh(signal);
}

/** The ids of a cluster's shards now. */
export async function shardsOf(
  runtime: Runtime,
  { name, kind, router, shardIds }: ClusterClient,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (kind === 'replicaSet') return shardIds;
  const listed = await runtime.retrying(`list the shards of ${name}`, () => listShards(router, { signal }), signal);
  return listed.map(({ id }) => id);
}

interface Change {
  joined: string[];
  left: string[];
}

function changed(before: readonly string[], now: readonly string[]): Change {
  return { joined: now.filter((id) => !before.includes(id)), left: before.filter((id) => !now.includes(id)) };
}

function refuse({ name }: ClusterClient, { joined, left }: Change): void {
  const what = [
    ...(joined.length > 0 ? [`shards joined ${name}: ${nameSome(joined)}`] : []),
    ...(left.length > 0 ? [`shards left ${name}: ${nameSome(left)}`] : []),
  ];
  if (what.length > 0) throw new ConvoyError('topologyChanged', `Since the start, ${what.join('; ')}. Start anew.`);
}
