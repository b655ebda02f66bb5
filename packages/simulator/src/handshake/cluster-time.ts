import { Binary, Long, type Timestamp } from 'bson';
import type { Doc } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';

const unsignedHash = new Binary(Buffer.alloc(20), 0);

/** `$clusterTime` as nodes without keys sign it. */
export function clusterTimeField(time: Timestamp): Doc {
  return doc(['clusterTime', time], ['signature', doc(['hash', unsignedHash], ['keyId', Long.ZERO])]);
}
