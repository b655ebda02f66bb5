import { PRE_IMAGES_NAMESPACE } from '../change-stream/pre-images.js';
import { OPLOG_NAMESPACE, oplogDocuments } from '../oplog/oplog-documents.js';
import type { ShardState } from '../shard-state.js';

/** True for namespaces derived from the oplog: the oplog itself, and pre-images. */
export function isOplogRead(namespace: string | undefined): boolean {
  return namespace === OPLOG_NAMESPACE || namespace === PRE_IMAGES_NAMESPACE;
}

/** The documents of such a namespace in natural order, backward or forward. */
export function oplogReadDocuments(state: ShardState, namespace: string, direction: 1 | -1): Generator<Uint8Array> {
  return namespace === OPLOG_NAMESPACE
    ? oplogDocuments(state.oplog, state.version, direction)
    : state.preImages.documents(direction);
}
