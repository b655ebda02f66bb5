import type { CommandRequest } from '../../node/command.js';
import { textOrEmpty } from '../../node/doc-fields.js';
import { databaseResource, namespaceResource } from '../privilege/resource.js';
import { type Declaration, type Need, onCluster, onFullyNamed } from './need.js';

/** On the database in the first field. */
function onNamedDatabase(...actions: string[]): Declaration {
  return ({ body, name }) => [{ resource: databaseResource(textOrEmpty(body.get(name))), actions }];
}

function onConfig(collection: string, ...actions: string[]): Need {
  return { resource: namespaceResource('config', collection), actions };
}

function zoneNeeds(_request: CommandRequest): Need[] {
  return [onConfig('shards', 'find', 'update'), onConfig('tags', 'find', 'update', 'remove')];
}

/** Commands about shards, chunks and zones. */
const shardingNeeds: readonly (readonly [string, Declaration])[] = [
  ['addShard', onCluster('addShard')],
  ['transitionFromDedicatedConfigServer', onCluster('transitionFromDedicatedConfigServer')],
  ['transitionToDedicatedConfigServer', onCluster('transitionToDedicatedConfigServer')],
  ['removeShard', onCluster('removeShard')],
  ['listShards', onCluster('listShards')],
  ['getShardMap', onCluster('getShardMap')],
  ['shardingState', onCluster('shardingState')],
  ['flushRouterConfig', onCluster('flushRouterConfig')],
  ['cleanupOrphaned', onCluster('cleanupOrphaned')],
  ['enableSharding', onNamedDatabase('enableSharding')],
  ['movePrimary', onNamedDatabase('moveChunk')],
  ['shardCollection', onFullyNamed('enableSharding')],
  ['refineCollectionShardKey', onFullyNamed('refineCollectionShardKey')],
  ['reshardCollection', onFullyNamed('reshardCollection')],
  ['abortReshardCollection', onFullyNamed('reshardCollection')],
  ['unshardCollection', onFullyNamed('reshardCollection')],
  ['abortUnshardCollection', onFullyNamed('reshardCollection')],
  ['moveCollection', onFullyNamed('moveCollection')],
  ['abortMoveCollection', onFullyNamed('moveCollection')],
  ['analyzeShardKey', onFullyNamed('analyzeShardKey')],
  ['configureCollectionBalancing', onFullyNamed('enableSharding')],
  ['split', onFullyNamed('splitChunk')],
  ['mergeChunks', onFullyNamed('splitChunk')],
  ['mergeAllChunksOnShard', onFullyNamed('splitChunk')],
  ['moveChunk', onFullyNamed('moveChunk')],
  ['moveRange', onFullyNamed('moveChunk')],
  ['clearJumboFlag', onFullyNamed('clearJumboFlag')],
  ['addShardToZone', () => [onConfig('shards', 'update')]],
  ['removeShardFromZone', () => [onConfig('shards', 'update'), onConfig('tags', 'find')]],
  ['updateZoneKeyRange', zoneNeeds],
  ['balancerStart', () => [onConfig('settings', 'update')]],
  ['balancerStop', () => [onConfig('settings', 'update')]],
  ['balancerStatus', () => [onConfig('settings', 'find')]],
  ['balancerCollectionStatus', onFullyNamed('enableSharding')],
];

/** Commands about the node, its set and its settings. */
const serverNeeds: readonly (readonly [string, Declaration])[] = [
  ['serverStatus', onCluster('serverStatus')],
  ['hostInfo', onCluster('hostInfo')],
  ['getCmdLineOpts', onCluster('getCmdLineOpts')],
  ['getLog', onCluster('getLog')],
  ['getParameter', onCluster('getParameter')],
  ['setParameter', onCluster('setParameter')],
  ['getClusterParameter', onCluster('getClusterParameter')],
  ['setClusterParameter', onCluster('setClusterParameter')],
  ['getDefaultRWConcern', onCluster('getDefaultRWConcern')],
  ['setDefaultRWConcern', onCluster('setDefaultRWConcern')],
  ['setFeatureCompatibilityVersion', onCluster('setFeatureCompatibilityVersion')],
  ['setUserWriteBlockMode', onCluster('setUserWriteBlockMode')],
  ['connPoolStats', onCluster('connPoolStats')],
  ['currentOp', onCluster('inprog')],
  ['killOp', onCluster('killop')],
  ['fsync', onCluster('fsync')],
  ['logRotate', onCluster('logRotate')],
  ['appendOplogNote', onCluster('appendOplogNote')],
  ['replSetGetStatus', onCluster('replSetGetStatus')],
  ['replSetGetConfig', onCluster('replSetGetConfig')],
  ['replSetResizeOplog', onCluster('replSetResizeOplog')],
  ['killAllSessions', onCluster('killAnySession')],
  ['startSession', 'login'],
  ['refreshSessions', 'login'],
  ['killSessions', 'login'],
  ['commitTransaction', 'login'],
  ['abortTransaction', 'login'],
  ['configureFailPoint', 'login'],
  ['_hashBSONElement', 'login'],
];

/** Commands that only nodes send to each other, as `__system`. */
const internalCommands = ['prepareTransaction', 'coordinateCommitTransaction'];

/** Commands that a client may send before it logs in. */
const openCommands = ['hello', 'isMaster', 'ismaster', 'ping', 'buildInfo', 'isdbgrid', 'whatsmyuri', 'endSessions'];

export const clusterNeeds: readonly (readonly [string, Declaration])[] = [
  ...shardingNeeds,
  ...serverNeeds,
  ...internalCommands.map((name): [string, Declaration] => [name, onCluster('internal')]),
  ...openCommands.map((name): [string, Declaration] => [name, 'open']),
];
