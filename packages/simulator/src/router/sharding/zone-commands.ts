import { ObjectId } from 'bson';
import type { Doc } from '../../bson/value.js';
import { compareKeys } from '../../config/shard-key.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { docOf, requiredText } from '../../node/doc-fields.js';
import type { RouterContext } from '../router-context.js';

/** `addShardToZone`. */
export async function addShardToZoneCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const shard = context.catalog.shard(requiredText(request.body, 'addShardToZone'));
  shard.zones.add(requiredText(request.body, 'zone'));
  await context.catalog.saveShard(shard);
  return new Map();
}

/** `removeShardFromZone`. */
export async function removeShardFromZoneCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const shard = context.catalog.shard(requiredText(request.body, 'removeShardFromZone'));
  shard.zones.delete(requiredText(request.body, 'zone'));
  await context.catalog.saveShard(shard);
  return new Map();
}

/**
 * `updateZoneKeyRange`: binds a range of shard keys to a zone, or frees it with `zone: null`.
 * @throws CommandError 2 for bounds that do not fit; 178 for overlaps; 70 when no shard is in the zone
 */
export async function updateZoneKeyRangeCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = requiredText(request.body, 'updateZoneKeyRange');
  const min = docOf(request.body.get('min'));
  const max = docOf(request.body.get('max'));
  const zone = request.body.get('zone') ?? null;
  if (min === undefined || max === undefined) throw new CommandError(9, 'FailedToParse', 'min and max must be documents');
  if (zone === null) {
    await context.catalog.removeZoneRange(namespace, min, max);
    return new Map();
  }
  if (compareKeys([...min.values()], [...max.values()]) >= 0) throw new CommandError(9, 'FailedToParse', 'max must be greater than min');
  const name = requiredText(request.body, 'zone');
  if (context.catalog.shardsOfZone(name).length === 0) throw new CommandError(zoneNotFound, 'ZoneNotFound', `zone ${name} does not exist`);
  await context.catalog.addZoneRange({ id: new ObjectId(), namespace, minDocument: min, maxDocument: max, zone: name });
  return new Map();
}

const zoneNotFound = 177;
