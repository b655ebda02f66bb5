import { Int32, Long } from 'bson';
import { scanPath } from '../../bson/scan.js';
import type { Doc } from '../../bson/value.js';
import { chunkBytes } from '../../config/chunk-size.js';
import { shardDocument } from '../../config/metadata-documents.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import type { CommandRequest } from '../../node/command.js';
import { doc, requiredText } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';

const bytesPerMegabyte = 1024 * 1024;
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
    if (!context.version.atLeast(6, 0)) await context.catalog.store.set('settings', 'autosplit', doc(['enabled', mode === 'full']));
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
  const reply: Doc = new Map();
  if (context.version.atLeast(6, 0)) reply.set('chunkSize', new Int32(Math.floor(chunkBytes(context.configShard.access, context.version) / bytesPerMegabyte)));
  reply.set('balancerCompliant', violation === undefined);
  return violation === undefined ? reply : reply.set('firstComplianceViolation', violation);
}

function violatesZones(context: RouterContext, collection: ShardedCollection): boolean {
  return context.catalog.zonesOf(collection.namespace).some((zone) => {
    const allowed = context.catalog.shardsOfZone(zone.zone);
    const chunks = collection.chunks.overlapping(collection.key.boundFrom(zone.minDocument), collection.key.boundFrom(zone.maxDocument));
    return chunks.some((chunk) => !allowed.includes(chunk.shard));
  });
}

/** Since 6.0 shards are compared by the bytes they hold (manual: "Sharded Cluster Balancer", "Migration Thresholds"), before by their chunks. */
function isUneven(context: RouterContext, collection: ShardedCollection): boolean {
  if (context.version.atLeast(6, 0)) return isUnevenByBytes(context, collection);
  const counts = context.catalog.shards.map((shard) => collection.chunks.chunks.filter((chunk) => chunk.shard === shard.id).length);
  const threshold = thresholds.find((each) => collection.chunks.chunks.length < each.below)?.difference ?? 0;
  return context.catalog.zonesOf(collection.namespace).length === 0 && Math.max(...counts) - Math.min(...counts) >= threshold;
}

/** Sizes of a range by which the fullest and the emptiest shard may differ. */
const rangesApartMax = 3;

function isUnevenByBytes(context: RouterContext, collection: ShardedCollection): boolean {
  const bytes = context.catalog.shards.map((shard) => shard.access.collection(collection.namespace)?.documentBytes ?? 0);
  return Math.max(...bytes) - Math.min(...bytes) >= rangesApartMax * chunkBytes(context.configShard.access, context.version);
}

/** `listShards`. */
export function listShards(context: RouterContext): Doc {
  return doc(['shards', context.catalog.shards.map((shard) => shardDocument(context.version, shard))]);
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
