import { Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { shardDocument } from '../../config/metadata-documents.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, requiredText } from '../../node/doc-fields.js';
import { unsimulated } from '../../node/unsimulated.js';
import type { RouterContext } from '../router-context.js';

/** `listShards`. */
export function listShards(context: RouterContext): Doc {
  return doc(['shards', context.catalog.shards.map((shard) => shardDocument(context.version, shard))]);
}

/** `getShardMap`. */
export function getShardMap(context: RouterContext): Doc {
  const all = context.members;
  return doc(
    ['map', new Map(all.map((shard) => [shard.id, shard.connectionString]))],
    ['hosts', new Map(all.map((shard) => [shard.host, shard.id]))],
    ['connStrings', new Map(all.map((shard) => [shard.connectionString, shard.id]))],
  );
}

/** Running members that could become shards, by `setName/host:port`. */
export type AvailableShards = ReadonlyMap<string, (id: string) => ClusterShard>;

/**
 * `addShard`: adds a member that was started next to the cluster.
 * @throws CommandError 96 when nothing listens there; 20 when the name is in use or the member holds a database of the
 * cluster
 */
export async function addShardCommand(
  context: RouterContext,
  request: CommandRequest,
  available: AvailableShards,
): Promise<Doc> {
  const wanted = requiredText(request.body, 'addShard');
  const present = context.catalog.shards.find((shard) => shard.connectionString === wanted);
  if (present !== undefined) return doc(['shardAdded', present.id]);
  const member = available.get(wanted);
  if (member === undefined) {
    if (request.body.has('maxTimeMS')) throw unsimulated('looking for a member within a time limit');
    throw new CommandError(
      96,
      'OperationFailed',
      `Could not find host matching read preference { mode: "primary" } for set ${wanted.split('/')[0] ?? ''}`,
    );
  }
  const asked = request.body.get('name');
  const id = typeof asked === 'string' ? asked : (wanted.split('/')[0] ?? '');
  if (context.catalog.shards.some((shard) => shard.id === id)) {
    throw new CommandError(20, 'IllegalOperation', `A shard already exists with the name ${id}`);
  }
  const shard = member(id);
  const taken = shard.access.databaseNames().find((db) => context.catalog.database(db) !== undefined);
  if (taken !== undefined) {
    throw new CommandError(
      96,
      'OperationFailed',
      `can't add shard '${wanted}' because a local database '${taken}' exists in another ` +
        (context.catalog.database(taken)?.primary ?? ''),
    );
  }
  await context.catalog.addShard(shard);
  return doc(['shardAdded', id]);
}

/** `transitionFromDedicatedConfigServer` (8.0): the config server becomes a shard too, under the id `config`. */
export async function beginConfigShard({ catalog, configShard, deployment }: RouterContext): Promise<Doc> {
  if (catalog.shards.includes(configShard)) return new Map();
  await catalog.addShard(configShard);
  deployment.writeBlock.members.push(configShard.member);
  return new Map();
}

/**
 * `removeShard`: makes the balancer move everything away, reports the progress, and at the end removes the shard.
 * @throws CommandError 20 for the last shard; 70 for an unknown one
 */
export async function removeShardCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const { catalog } = context;
  const id = requiredText(request.body, 'removeShard');
  const shard = catalog.shards.find((each) => each.id === id);
  if (shard === undefined) throw new CommandError(70, 'ShardNotFound', `Shard ${id} not found`);
  const databases = catalog.databases.filter((entry) => entry.primary === shard.id).map((entry) => entry.name);
  const toMove: [string, Value][] = [
    ['note', 'you need to drop or movePrimary these databases'],
    ['dbsToMove', databases],
  ];
  if (!shard.draining) {
    refuseRemoval(context, shard);
    shard.draining = true;
    await catalog.saveShard(shard);
    return doc(['msg', 'draining started successfully'], ['state', 'started'], ['shard', shard.id], ...toMove);
  }
  const chunks = catalog.collections.flatMap((collection) =>
    collection.chunks.chunks.filter((chunk) => chunk.shard === shard.id),
  );
  if (chunks.length > 0 || databases.length > 0) {
    const remaining = doc(
      ['chunks', Long.fromInt(chunks.length)],
      ['dbs', Long.fromInt(databases.length)],
      ['jumboChunks', Long.fromInt(chunks.filter((chunk) => chunk.jumbo === true).length)],
    );
    return doc(['msg', 'draining ongoing'], ['state', 'ongoing'], ['remaining', remaining], ...toMove);
  }
  await catalog.removeShard(shard);
  return doc(['msg', 'removeshard completed successfully'], ['state', 'completed'], ['shard', shard.id]);
}

function refuseRemoval({ catalog }: RouterContext, shard: ClusterShard): void {
  if (!catalog.shards.some((other) => other !== shard && !other.draining)) {
    throw new CommandError(20, 'IllegalOperation', 'Operation not allowed because it would remove the last shard');
  }
  for (const zone of shard.zones) {
    if (catalog.shardsOfZone(zone).length > 1 || !catalog.isZoneUsed(zone)) continue;
    const message =
      `Cannot remove shard ${shard.id} because it is the only shard that belongs to the zone ${zone}, which ` +
      'still has ranges';
    throw new CommandError(zoneStillInUse, 'ZoneStillInUse', message);
  }
}

const zoneStillInUse = 169;
