/** Parts of nodes by `host:port`; the same part in the recorded and in the playing cluster is the same node. */
export type HostRoles = ReadonlyMap<string, string>;

/**
 * The nodes of the recorded clusters: files 01 to 06, 07, 08 to 15, and the plain replica set of 14; of 8.0.10 those of
 * each act.
 */
export const recordedRoles: HostRoles = new Map([
  ['127.0.0.1:28000', 'router'],
  ['127.0.0.1:28001', 'config'],
  ['127.0.0.1:28010', 'shard0'],
  ['127.0.0.1:28011', 'shard1'],
  ['127.0.0.1:27500', 'router'],
  ['127.0.0.1:27501', 'config'],
  ['127.0.0.1:27510', 'shard0'],
  ['127.0.0.1:40010', 'shard0'],
  ['127.0.0.1:40011', 'shard1'],
  ['127.0.0.1:41500', 'member'],
  ['127.0.0.1:50101', 'config'],
  ['127.0.0.1:50110', 'shard0'],
  ['127.0.0.1:50111', 'shard1'],
  ['127.0.0.1:50210', 'shard0'],
  ['127.0.0.1:50300', 'member'],
  ['127.0.0.1:50510', 'shard0'],
  ['127.0.0.1:50511', 'shard1'],
]);
