import { Long } from 'bson';
import { encodeDocument } from '../../bson/encode.js';
import { DateTime, RawDocument, type Doc, type Value } from '../../bson/value.js';
import type { Deployment } from '../../node/deployment.js';
import type { DocumentOperation, OplogEntry } from '../oplog/entry.js';
import type { Oplog } from '../oplog/oplog.js';

/** Where pre-images can be read. */
export const PRE_IMAGES_NAMESPACE = 'config.system.preimages';

/** Pre-images: documents before their changes. They live as long as the oplog has the change, or for a set time. */
export class PreImages {
  constructor(
    private readonly oplog: Oplog,
    private readonly deployment: Deployment,
    private readonly now: () => number,
  ) {}

  /** True while the pre-images of an entry have not expired. */
  keeps(entry: OplogEntry): boolean {
    const seconds = this.deployment.preImageExpirySeconds;
    return seconds === undefined || this.now() - entry.wallMs <= seconds * 1000;
  }

  /** The documents of `config.system.preimages`. */
  *documents(direction: 1 | -1): Generator<Uint8Array> {
    const { oplog } = this;
    const count = oplog.end - oplog.start;
    const first = direction === 1 ? oplog.start : oplog.end - 1;
    for (let step = 0; step < count; step += 1) {
      const entry = oplog.at(first + step * direction);
      if (entry === undefined || !this.keeps(entry)) continue;
      for (const [index, operation] of entry.operations.entries()) {
        if ((operation.kind === 'update' || operation.kind === 'delete') && operation.target.preImages)
          yield imageDocument(entry, index, operation);
      }
    }
  }
}

function imageDocument(
  entry: OplogEntry,
  applyOpsIndex: number,
  operation: Exclude<DocumentOperation, { kind: 'insert' }>,
): Uint8Array {
  const id: Doc = new Map<string, Value>([
    ['nsUUID', operation.target.uuid],
    ['ts', entry.clusterTime],
    ['applyOpsIndex', Long.fromNumber(applyOpsIndex)],
  ]);
  return encodeDocument(
    new Map<string, Value>([
      ['_id', id],
      ['operationTime', new DateTime(BigInt(entry.wallMs))],
      ['preImage', new RawDocument(operation.before)],
    ]),
  );
}
