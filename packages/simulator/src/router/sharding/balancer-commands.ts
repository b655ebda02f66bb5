import { Int32, Long } from 'bson';
import { scanPath } from '../../bson/scan.js';
import type { Doc } from '../../bson/value.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import type { CommandRequest } from '../../node/command.js';
import { doc, requiredText } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';

/** Time between two rounds of the balancer (server: 10 s when nothing was moved). */
const roundMs = 10_000;
/** Chunks by which the fullest and the emptiest shard may differ, by the number of chunks (manual: "Migration Thresholds"). */
const thresholds = [
  { below: 20, difference: 2 },
  { below: 80, difference: 4 },
  { below: Infinity, difference: 8 },
];

/** The balancer's switch and what it would say. It never moves chunks by itself: a simulated cluster changes only when told to. */
export class Balancer {
  readonly #startedMs = Date.now();

  async start(context: RouterContext): Promise<Doc> {
    await this.#set(context, 'full');
    return new Map();
  }

  async stop(context: RouterContext): Promise<Doc> {
    await this.#set(context, 'off');
    return new Map();
  }

  async #set(context: RouterContext, mode: 'full' | 'off'): Promise<void> {
    await context.catalog.store.set('settings', 'balancer', doc(['mode', mode], ['stopped', mode === 'off']));
    await context.catalog.store.set('settings', 'autosplit', doc(['enabled', mode === 'full']));
  }

  /** Reads the switch from `config.settings`, which clients may write themselves. */
  status(context: RouterContext): Doc {
    const settings = context.configShard.access.findByKey('config.settings', doc(['_id', 'balancer']));
    const stopped = settings !== undefined && scanPath(settings, 'stopped') === true;
    const mode = settings === undefined ? undefined : scanPath(settings, 'mode');
    const rounds = 1 + Math.floor((Date.now() - this.#startedMs) / roundMs);
    return doc(
      ['mode', stopped ? 'off' : typeof mode === 'string' ? mode : 'full'],
      ['inBalancerRound', false],
      ['numBalancerRounds', Long.fromInt(rounds)],
    );
  }
}

/** `balancerCollectionStatus`: whether every chunk lies in its zone and the shards hold about as many. */
export function balancerCollectionStatus(context: RouterContext, request: CommandRequest): Doc {
  const collection = context.catalog.sharded(requiredText(request.body, 'balancerCollectionStatus'));
  const violation = violatesZones(context, collection) ? 'zoneViolation' : isUneven(context, collection) ? 'chunksImbalance' : undefined;
  const reply = doc(['balancerCompliant', violation === undefined]);
  return violation === undefined ? reply : reply.set('firstComplianceViolation', violation);
}

function violatesZones(context: RouterContext, collection: ShardedCollection): boolean {
  return context.catalog.zonesOf(collection.namespace).some((zone) => {
    const allowed = context.catalog.shardsOfZone(zone.zone);
    const chunks = collection.chunks.overlapping(collection.key.boundFrom(zone.minDocument), collection.key.boundFrom(zone.maxDocument));
    return chunks.some((chunk) => !allowed.includes(chunk.shard));
  });
}

function isUneven(context: RouterContext, collection: ShardedCollection): boolean {
  const counts = context.catalog.shards.map((shard) => collection.chunks.chunks.filter((chunk) => chunk.shard === shard.id).length);
  const threshold = thresholds.find((each) => collection.chunks.chunks.length < each.below)?.difference ?? 0;
  return context.catalog.zonesOf(collection.namespace).length === 0 && Math.max(...counts) - Math.min(...counts) >= threshold;
}

/** `listShards`. */
export function listShards(context: RouterContext): Doc {
  const shards = context.catalog.shards.map((shard) => {
    const entry = doc(['_id', shard.id], ['host', shard.connectionString], ['state', new Int32(1)], ['topologyTime', shard.addedAt]);
    return shard.zones.size > 0 ? entry.set('tags', [...shard.zones]) : entry;
  });
  return doc(['shards', shards]);
}

/** `getShardMap`. */
export function getShardMap(context: RouterContext): Doc {
  const all = [...context.catalog.shards, context.configShard];
  return doc(
    ['map', new Map(all.map((shard) => [shard.id, shard.connectionString]))],
    ['hosts', new Map(all.map((shard) => [shard.host, shard.id]))],
    ['connStrings', new Map(all.map((shard) => [shard.connectionString, shard.id]))],
  );
}
