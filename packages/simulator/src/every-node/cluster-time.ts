import { Binary, Long, type Timestamp } from 'bson';
import type { Doc } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';

const emptyHash = new Binary(Buffer.alloc(20), 0);

/** `$clusterTime` with an empty signature, as nodes without access control reply it; `AccessNode` signs it. */
export function clusterTimeField(time: Timestamp): Doc {
  return doc(['clusterTime', time], ['signature', doc(['hash', emptyHash], ['keyId', Long.ZERO])]);
}
