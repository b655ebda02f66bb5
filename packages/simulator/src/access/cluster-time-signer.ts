import { Binary, Long, Timestamp } from 'bson';
import { createHmac, randomBytes } from 'node:crypto';
import type { Doc } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';

const keyBytes = 20;
/** One signature serves for all increments that differ only in these bits (server: time proof service). */
const rangeMask = 0xffff;

/** How long a key serves: 90 days, the server's `keysRotationIntervalSec`. */
const keyLifeSeconds = 7_776_000;

/** Signs the cluster times that nodes with access control tell their clients. */
export class ClusterTimeSigner {
  readonly keyId: Long;
  readonly key = randomBytes(keyBytes);
  #signed: { seconds: number; range: number; signature: Doc } | undefined;

  /** @param now cluster time at which the key is made, of which its number consists */
  constructor(now: Timestamp) {
    this.keyId = new Long(now.i, now.t);
  }

  /** `signature` of a `$clusterTime`. */
  signature(time: Timestamp): Doc {
    const range = time.i | rangeMask;
    if (this.#signed?.seconds !== time.t || this.#signed.range !== range) {
      this.#signed = { seconds: time.t, range, signature: this.#sign(time.t, range) };
    }
    return this.#signed.signature;
  }

  /** The key as it is kept in `admin.system.keys`. */
  document(): Doc {
    const expiresAt = new Timestamp({ t: this.keyId.getHighBitsUnsigned() + keyLifeSeconds, i: 0 });
    return doc(['_id', this.keyId], ['purpose', 'HMAC'], ['key', new Binary(this.key, 0)], ['expiresAt', expiresAt]);
  }

  #sign(seconds: number, increment: number): Doc {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt32LE(increment >>> 0, 0);
    bytes.writeUInt32LE(seconds, 4);
    const hash = createHmac('sha1', this.key).update(bytes).digest();
    return doc(['hash', new Binary(hash, 0)], ['keyId', this.keyId]);
  }
}
