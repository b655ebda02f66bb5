import { MinKey, ObjectId } from 'bson';
import { compareValues } from '../../bson/compare.js';
import { documentText } from '../../bson/text.js';
import type { Doc } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { errorName } from '../../node/error-name.js';
import { docOf, requiredText } from '../../node/doc-fields.js';
import { isHashBound } from '../../config/shard-key.js';
import { refuseUnstorable } from '../../config/storable-key.js';
import type { RouterContext } from '../router-context.js';
import { refuseTimeOfZone } from '../target/series-targets.js';

/** `addShardToZone`. */
export async function addShardToZoneCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const shard = zonedShard(context, requiredText(request.body, 'addShardToZone'));
  shard.zones.add(requiredText(request.body, 'zone'));
  await context.catalog.saveShard(shard);
  return new Map();
}

/** `removeShardFromZone`. @throws CommandError 163 for the last shard of a zone with ranges */
export async function removeShardFromZoneCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const { catalog } = context;
  const shard = zonedShard(context, requiredText(request.body, 'removeShardFromZone'));
  const zone = requiredText(request.body, 'zone');
  const holders = catalog.shardsOfZone(zone);
  if (catalog.isZoneUsed(zone) && holders.length === 1 && holders.includes(shard.id)) {
    throw new CommandError(
      zoneStillInUse,
      errorName(zoneStillInUse),
      'cannot remove a shard from zone if a chunk range is associated with it',
    );
  }
  shard.zones.delete(zone);
  await catalog.saveShard(shard);
  return new Map();
}

function zonedShard({ catalog }: RouterContext, id: string): ClusterShard {
  const shard = catalog.shards.find((each) => each.id === id);
  if (shard === undefined) throw new CommandError(70, 'ShardNotFound', `shard ${id} does not exist`);
  return shard;
}

/**
 * `updateZoneKeyRange`: binds a range of shard keys to a zone, or frees it with `zone: null`. The bounds of a sharded
 * collection's ranges are completed to its shard key.
 * @throws CommandError 9 or 61 for bounds that do not fit; 178 for overlaps; 177 when no shard is in the zone
 */
export async function updateZoneKeyRangeCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = requiredText(request.body, 'updateZoneKeyRange');
  const min = docOf(request.body.get('min'));
  const max = docOf(request.body.get('max'));
  const zone = request.body.get('zone') ?? null;
  if (min === undefined || max === undefined)
    throw new CommandError(9, 'FailedToParse', 'min and max must be documents');
  if (compareValues(min, max) >= 0)
    throw new CommandError(
      9,
      'FailedToParse',
      `min: ${documentText(min)} should be less than max: ${documentText(max)}`,
    );
  const name = zone === null ? undefined : requiredText(request.body, 'zone');
  if (name !== undefined && context.catalog.shardsOfZone(name).length === 0)
    throw new CommandError(zoneNotFound, 'ZoneNotFound', `zone ${name} does not exist`);
  const [minDocument, maxDocument] = wholeRange(context, namespace, min, max);
  if (name !== undefined) {
    refuseUnstorable(min);
    refuseUnstorable(max);
    refuseNoHashes(context, namespace, min, max);
    const sharded = context.catalog.collection(namespace);
    if (sharded !== undefined) refuseTimeOfZone(sharded, [minDocument, maxDocument], true);
  }
  if (name === undefined) await context.catalog.removeZoneRange(namespace, minDocument, maxDocument);
  else await context.catalog.addZoneRange({ id: new ObjectId(), namespace, minDocument, maxDocument, zone: name });
  return new Map();
}

/** A range with whole shard keys where the collection has one. */
function wholeRange({ catalog }: RouterContext, namespace: string, min: Doc, max: Doc): [Doc, Doc] {
  const collection = catalog.collection(namespace);
  if (collection === undefined) {
    if ([...min.keys()].join() === [...max.keys()].join()) return [min, max];
    throw new CommandError(
      61,
      'ShardKeyNotFound',
      `the shard key of min ${documentText(min)} doesn't match with the shard key of max ${documentText(max)}`,
    );
  }
  const { key } = collection;
  for (const [name, bound] of [
    ['min', min],
    ['max', max],
  ] as const) {
    if ([...bound.keys()].every((field, at) => field === key.fields[at])) continue;
    throw new CommandError(
      61,
      'ShardKeyNotFound',
      `${name}: ${documentText(bound)} is not a prefix of the shard key ${documentText(key.doc)} of ns: ${namespace}`,
    );
  }
  const whole = (bound: Doc): Doc => new Map([...key.fields.map((field) => [field, new MinKey()] as const), ...bound]);
  return [whole(min), whole(max)];
}

/** Bounds under a hashed field are hashes, which are longs, or its ends. @throws CommandError 72 for others */
function refuseNoHashes({ catalog }: RouterContext, namespace: string, min: Doc, max: Doc): void {
  const key = catalog.collection(namespace)?.key;
  const hashed = key?.fields[key.hashedIndex];
  if (key === undefined || hashed === undefined) return;
  if ([min, max].every((bound) => !bound.has(hashed) || isHashBound(bound.get(hashed) ?? null))) return;
  const shown = `${documentText(min)} -->> ${documentText(max)}`;
  const rule =
    'not of type NumberLong, MinKey, or MaxKey which corresponds to a hashed field in the shard key pattern ' +
    documentText(key.doc);
  throw new CommandError(72, 'InvalidOptions', `there exists a field in the range ${shown} ${rule}`);
}

const zoneNotFound = 177;
const zoneStillInUse = 163;
