/** Commands that routers of some releases have and that are not simulated. They are refused by name, never ignored. */
export const unsimulatedCommands: readonly string[] = [
  'abortMoveCollection',
  'abortReshardCollection',
  'abortUnshardCollection',
  'analyzeShardKey',
  'bulkWrite',
  'configureCollectionBalancing',
  'connPoolStats',
  'explain',
  'fsync',
  'killOp',
  'logRotate',
  'mergeAllChunksOnShard',
  'moveRange',
  'transitionToDedicatedConfigServer',
];
