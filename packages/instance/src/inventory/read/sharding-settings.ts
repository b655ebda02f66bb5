import type { Document } from 'mongodb';
import { nameSome } from '../../catalog/name-some.js';
import { isReservedDatabase } from '../../catalog/namespace-filter.js';
import { isOwnZone } from '../../catalog/place-chunks.js';
import { namespaceFrom } from '../../catalog/namespace.js';
import { readConfig } from '../../catalog/read-sharding.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { shownName } from '../../cluster/time-series.js';
import { isAtLeast } from '../../cluster/topology.js';
import { clusterScope, type Item, listedItem, type Scope, type ZoneRange } from '../item.js';

const megabyte = 2 ** 20;

/** The zones of a sharded cluster with their shards, and the ranges of its collections. */
export async function readZones({ router, kind }: ClusterClient, signal: AbortSignal): Promise<Item[]> {
  if (kind !== 'sharded') return [];
  const [shards, tags] = await Promise.all([
    readConfig(router, { find: 'shards', filter: {} }, signal),
    readConfig(router, { find: 'tags', filter: {}, sort: { ns: 1, min: 1 } }, signal),
  ]);
  const ranges = rangesByNamespace(tags);
  const zones = shardsByZone(shards);
  const used = (zone: string): string[] =>
    [...ranges].filter(([, each]) => each.some((range) => range.zone === zone)).map(([namespace]) => namespace);
  return [
    ...[...zones].map(([zone, shardIds]) => zoneItem(zone, shardIds, used(zone))),
    ...[...ranges].map(([namespace, each]) => rangesItem(namespace, each)),
  ];
}

function rangesByNamespace(tags: readonly Document[]): ReadonlyMap<string, ZoneRange[]> {
  const ranges = new Map<string, ZoneRange[]>();
  for (const { ns, min, max, tag } of tags as { ns: string; min: Uint8Array; max: Uint8Array; tag: string }[]) {
    if (isOwnZone(tag)) continue;
    ranges.set(ns, [...(ranges.get(ns) ?? []), { min, max, zone: tag }]);
  }
  return ranges;
}

function shardsByZone(shards: readonly Document[]): ReadonlyMap<string, string[]> {
  const zones = new Map<string, string[]>();
  for (const { _id, tags = [] } of shards as unknown as { _id: string; tags?: string[] }[])
    for (const zone of tags) if (!isOwnZone(zone)) zones.set(zone, [...(zones.get(zone) ?? []), _id].sort());
  return zones;
}

/** A zone belongs to the collections whose ranges are in it; one without ranges to the cluster. */
export function zoneItem(zone: string, shards: readonly string[], namespaces: readonly string[]): Item {
  const scope: Scope = namespaces.length === 0 ? clusterScope : { of: 'namespaces', namespaces };
  const shown = `shards ${nameSome(shards)}`;
  return {
    kind: 'zones',
    name: `zone ${zone}`,
    scope,
    shown,
    content: [...shards].sort().join(),
    payload: { type: 'zone', zone, shards },
  };
}

export function rangesItem(namespace: string, ranges: readonly ZoneRange[]): Item {
  const zones = [...new Set(ranges.map(({ zone }) => zone))].sort();
  return {
    kind: 'zones',
    name: shownName(namespaceFrom(namespace)),
    scope: { of: 'namespaces', namespaces: [namespace] },
    shown: `${ranges.length} range${ranges.length === 1 ? '' : 's'} of ${nameSome(zones)}`,
    content: ranges.map(rangeText).sort().join(),
    payload: { type: 'ranges', namespace, ranges },
  };
}

/** Equal for equal ranges of the same zone. */
export function rangeText({ min, max, zone }: ZoneRange): string {
  return `${Buffer.from(min).toString('hex')}-${Buffer.from(max).toString('hex')}:${zone}`;
}

/** Collections that the balancer treats in their own way. */
export async function readBalancing({ router, kind }: ClusterClient, signal: AbortSignal): Promise<Item[]> {
  if (kind !== 'sharded') return [];
  const rows = await readConfig(router, { find: 'collections', filter: {} }, signal);
  return rows
    .filter((row) => row.dropped !== true && !isReservedDatabase(String(row._id).split('.')[0] ?? ''))
    .flatMap((row) => {
      const noBalance = row.noBalance === true;
      const autoMerger = row.enableAutoMerge !== false;
      const bytes = Number(row.maxChunkSizeBytes ?? 0);
      if (!noBalance && autoMerger && bytes === 0) return [];
      return [balancingItem(String(row._id), noBalance, bytes === 0 ? null : Math.round(bytes / megabyte), autoMerger)];
    });
}

export function balancingItem(
  namespace: string,
  noBalance: boolean,
  chunkSize_MB: number | null,
  autoMerger: boolean,
): Item {
  const shown = [
    ...(noBalance ? ['not balanced'] : []),
    ...(chunkSize_MB === null ? [] : [`chunks of ${chunkSize_MB} MB`]),
    ...(autoMerger ? [] : ['no AutoMerger']),
  ].join(', ');
  return {
    kind: 'balancing',
    name: shownName(namespaceFrom(namespace)),
    scope: { of: 'namespaces', namespaces: [namespace] },
    shown,
    content: shown,
    payload: { type: 'balancing', namespace, noBalance, chunkSize_MB, autoMerger },
  };
}

/** How a cluster's balancer was before a migration stopped it. */
export interface FormerBalancer {
  readonly isOn: boolean;
  readonly isMergerOff: boolean;
}

/** Settings of the balancer that the servers keep beside its state (manual, "Manage Sharded Cluster Balancer"). */
const balancerSettings = ['_secondaryThrottle', '_waitForDelete', 'attemptToBalanceJumboChunks'] as const;

/** The balancer of a sharded cluster, its chunk size and its AutoMerger, as far as somebody has set them. */
export async function readBalancerSettings(
  { router, kind, version }: ClusterClient,
  former: FormerBalancer | null,
  signal: AbortSignal,
): Promise<Item[]> {
  if (kind !== 'sharded') return [];
  const rows = await readConfig(router, { find: 'settings', filter: {} }, signal);
  const row = (id: string): Document => rows.find(({ _id }) => _id === id) ?? {};
  const balancer = row('balancer');
  const isOn = former?.isOn ?? !(balancer.stopped === true || balancer.mode === 'off');
  const isMergerOff = former?.isMergerOff ?? (isOn && row('automerge').enabled === false);
  const window = balancer.activeWindow as { start?: string; stop?: string } | undefined;
  const bytes = row('chunksize').value as number | undefined;
  return [
    listedItem('balancer', 'mode', isOn ? 'on' : 'off'),
    ...(window === undefined
      ? []
      : [listedItem('balancer', 'activeWindow', `${window.start ?? '?'} to ${window.stop ?? '?'}`)]),
    ...balancerSettings.flatMap((name) =>
      balancer[name] === undefined ? [] : [listedItem('balancer', name, JSON.stringify(balancer[name]))],
    ),
    // Later releases split no chunks on writes (6.0 release notes).
    ...(row('autosplit').enabled === false && !isAtLeast(version, 6, 0)
      ? [listedItem('balancer', 'autosplit', 'off')]
      : []),
    ...(bytes === undefined ? [] : [listedItem('chunkSize', 'chunksize', `${bytes} MB`)]),
    ...(isMergerOff ? [listedItem('autoMerger', 'automerge', 'off')] : []),
  ];
}

/** The primary shard of each database. */
export async function readPrimaries({ router, kind }: ClusterClient, signal: AbortSignal): Promise<Item[]> {
  if (kind !== 'sharded') return [];
  const rows = await readConfig(router, { find: 'databases', filter: {}, sort: { _id: 1 } }, signal);
  return rows
    .map((row) => ({ database: String(row._id), primary: String(row.primary) }))
    .filter(({ database }) => !isReservedDatabase(database))
    .map(({ database, primary }) =>
      listedItem('primaries', database, primary, { of: 'databases', databases: [database] }),
    );
}
