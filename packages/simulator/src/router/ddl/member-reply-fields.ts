import { Long, type Timestamp } from 'bson';
import type { Doc } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import { clusterTimeField } from '../../handshake/cluster-time.js';
import { opTime } from '../../handshake/hello.js';
import { doc } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';

/**
 * The fields that a shard adds to replies to a router. Clients see them only where a router returns whole replies of
 * its shards.
 * @param current the newest cluster time
 * @param topologyTime time of the latest added shard
 */
export function memberReplyFields(
  shard: ClusterShard,
  current: Timestamp,
  topologyTime: Timestamp,
  version: ServerVersion,
): Doc {
  const applied = shard.access.lastAppliedTime();
  if (version.atLeast(8, 0))
    return doc(
      ['$clusterTime', doc(['clusterTime', current])],
      ['$configTime', current],
      ['$topologyTime', topologyTime],
      ['operationTime', applied],
    );
  return doc(
    ['$gleStats', doc(['lastOpTime', opTime(applied)], ['electionId', shard.node.electionId])],
    ['lastCommittedOpTime', applied],
    ['$configServerState', doc(['opTime', doc(['ts', current], ['t', Long.fromInt(-1)])])],
    ['$clusterTime', clusterTimeField(current)],
    ['$configTime', current],
    ['$topologyTime', topologyTime],
    ['operationTime', applied],
  );
}
