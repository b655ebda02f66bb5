import { Long } from 'bson';
import { DateTime, type Doc, type Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import { oplogStats, sizeValue, storageStats } from '../commands/statistics.js';
import { OPLOG_NAMESPACE } from '../oplog/oplog-documents.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';

/**
 * The documents of a first stage that provides its own. Undefined for other stages.
 * @param routed whether a router asks: it gets the name of the shard of a sharded collection, since 8.0 everybody does
 */
export function sourceStageDocuments(
  state: ShardState,
  namespace: string | undefined,
  collection: Collection | undefined,
  stage: Doc | undefined,
  routed: boolean,
): Doc[] | undefined {
  const collStats = stage?.get('$collStats');
  if (collStats instanceof Map) return [collectionStatistics(state, namespace ?? '', collection, collStats)];
  if (stage?.has('$indexStats') === true)
    return collection === undefined ? [] : indexStatistics(state, collection, routed);
  return undefined;
}

function collectionStatistics(
  state: ShardState,
  namespace: string,
  collection: Collection | undefined,
  wanted: Doc,
): Doc {
  const found: Doc = new Map<string, Value>([
    ['ns', namespace],
    ['shard', state.options.name],
    ['host', state.diagnosticHost],
    ['localTime', new DateTime(BigInt(state.now()))],
  ]);
  const storage = wanted.get('storageStats');
  if (namespace === OPLOG_NAMESPACE)
    return found.set(
      'storageStats',
      oplogStats(state.oplog, storage instanceof Map ? (numberOf(storage.get('scale')) ?? 1) : 1),
    );
  for (const part of ['count', 'storageStats']) {
    if (wanted.has(part) && collection === undefined) throw missing(part, namespace);
  }
  if (collection === undefined) return found;
  if (storage instanceof Map)
    found.set('storageStats', storageStats(collection, numberOf(storage.get('scale')) ?? 1, state.version));
  if (wanted.has('count')) found.set('count', sizeValue(collection.documentCount));
  return found;
}

function missing(part: string, namespace: string): CommandError {
  const what = part === 'count' ? 'count' : 'storageStats';
  return new CommandError(
    26,
    'NamespaceNotFound',
    `PlanExecutor error during aggregation :: caused by :: Unable to retrieve ${what} in $collStats stage :: ` +
      `caused by :: Collection [${namespace}] not found.`,
  );
}

/** Index use is not counted here: every index reports none. */
function indexStatistics(state: ShardState, collection: Collection, routed: boolean): Doc[] {
  const since = new DateTime(BigInt(state.now()));
  const namesShard = state.version.atLeast(8, 0) || (routed && collection.target.shardKey !== undefined);
  const ready = collection.indexes.map(({ definition }) => ({ spec: definition.spec, building: false }));
  const building = state.builds.of(collection).flatMap(({ specs }) => specs.map((spec) => ({ spec, building: true })));
  return [...ready, ...building].map(
    ({ spec, building: isBuilding }) =>
      new Map<string, Value>([
        ['name', spec.get('name') ?? null],
        ['key', spec.get('key') ?? null],
        ['host', state.diagnosticHost],
        [
          'accesses',
          new Map<string, Value>([
            ['ops', Long.fromNumber(0)],
            ['since', since],
          ]),
        ],
        ...(namesShard ? [['shard', state.options.name] as [string, Value]] : []),
        ['spec', spec],
        ...(isBuilding ? [['building', true] as [string, Value]] : []),
      ]),
  );
}
