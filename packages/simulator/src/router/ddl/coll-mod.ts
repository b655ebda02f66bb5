import { Int32, Long } from 'bson';
import { CommandError, type CommandRequest } from '../../node/command.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { Doc, Value } from '../../bson/value.js';
import { docOf, docOrEmpty, isTrue, numberOf } from '../../node/doc-fields.js';
import { notUnique } from '../../shard/commands/coll-mod-index.js';
import { bumpVersion } from '../sharding/chunk-changes.js';
import { commandNamespace, type RouterContext } from '../router-context.js';
import { visibleOfKey } from './index-commands.js';
import { fanOut } from './fan-out.js';

const namespaceNotFound = 26;
const cannotConvertIndexToUnique = 359;

/**
 * `collMod` on every shard that has the collection. An index becomes unique on all of them or on none. Since 6.0 a
 * sharded collection's chunks do not move meanwhile, and one of them gets a new version before and after.
 */
export async function collModCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const shards = context.holdersOf(commandNamespace(request));
  if (shards.length === 0) throw new CommandError(namespaceNotFound, 'NamespaceNotFound', 'ns does not exist');
  refuseHidingLast(context, request, shards);
  const converts = isTrue(docOf(request.body.get('index'))?.get('unique')) && context.release.features.atLeast(6, 0);
  if (converts && shards.length > 1) await refuseDuplicates(context, request, shards);
  const stopsMigrations = async (): Promise<void> => {
    const sharded = context.catalog.collection(commandNamespace(request));
    if (sharded !== undefined && context.release.features.atLeast(6, 0)) await bumpVersion(context.catalog, sharded);
  };
  await stopsMigrations();
  const reply = fanOut(context, request, shards).finally(stopsMigrations);
  return context.version.atLeast(8, 0) ? reply.then((all) => merged(context, request, all), failedOnce) : reply;
}

/** Routers of 8.0 answer for all shards at once: with what the first of them has changed. */
function merged({ catalog }: RouterContext, request: CommandRequest, reply: Doc): Doc {
  const [first] = docOrEmpty(reply.get('raw')).values();
  const isSharded = catalog.collection(commandNamespace(request)) !== undefined;
  const own = [...docOrEmpty(first)].map(([name, value]): [string, Value] => {
    const seconds = name.startsWith('expireAfterSeconds_') ? numberOf(value) : undefined;
    if (seconds === undefined) return [name, value];
    return [name, isSharded ? new Int32(seconds) : Long.fromNumber(seconds)];
  });
  return new Map(own);
}

function failedOnce(error: unknown): never {
  if (!(error instanceof CommandError)) throw error;
  const extra = new Map([...error.extra].filter(([name]) => name !== 'raw'));
  throw new CommandError(error.code, error.codeName, error.message, error.labels, extra);
}

/**
 * Shards hide no index that is the last visible one of a ranged shard key (server source of 8.0).
 * @throws CommandError 72
 */
function refuseHidingLast(
  { catalog, version }: RouterContext,
  request: CommandRequest,
  shards: readonly ClusterShard[],
): void {
  const namespace = commandNamespace(request);
  const change = docOf(request.body.get('index'));
  const key = catalog.collection(namespace)?.key;
  if (key === undefined || key.hashedIndex >= 0 || !version.atLeast(8, 0) || !isTrue(change?.get('hidden'))) return;
  for (const shard of shards) {
    const supporting = visibleOfKey(key, shard.access.collection(namespace)?.indexes ?? []);
    const [last] = supporting;
    if (supporting.length !== 1 || last?.get('name') !== change?.get('name')) continue;
    throw new CommandError(
      72,
      'InvalidOptions',
      "Can't hide the only compatible index for this collection's shard key",
    );
  }
}

/** @throws CommandError 359 with the violations of all shards */
async function refuseDuplicates(
  context: RouterContext,
  request: CommandRequest,
  shards: readonly ClusterShard[],
): Promise<void> {
  const violations: Value[] = [];
  const trial = new Map(request.body).set('dryRun', true);
  for (const shard of shards) {
    try {
      await context.sender.run(shard, request, trial);
    } catch (error) {
      const found =
        error instanceof CommandError && error.code === cannotConvertIndexToUnique
          ? error.extra.get('violations')
          : undefined;
      if (!Array.isArray(found)) throw error;
      violations.push(...found);
    }
  }
  if (violations.length > 0) throw notUnique(violations);
}
