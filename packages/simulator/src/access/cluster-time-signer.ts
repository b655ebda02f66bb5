import { Binary, Long, Timestamp } from 'bson';
import { createHmac, randomBytes } from 'node:crypto';
import type { Doc, Value } from '../bson/value.js';
import type { ClusterClock } from '../node/clock.js';
import { CommandError } from '../node/command.js';
import { doc, docOf } from '../node/doc-fields.js';

const keyBytes = 20;
/** One signature covers all increments that differ only in these bits (server: time proof service). */
const rangeMask = 0xffff;

/** Lifetime of a key: 90 days, the server's `keysRotationIntervalSec`. */
const keyLifeSeconds = 7_776_000;

/** Signs the cluster times that nodes with access control return to clients. */
export class ClusterTimeSigner {
  readonly keyId: Long;
  readonly key = randomBytes(keyBytes);
  #signed: { seconds: number; range: number; signature: Doc } | undefined;

  /** @param clock of the cluster; the number of the key is the time of its creation */
  constructor(private readonly clock: ClusterClock) {
    const now = clock.tick();
    this.keyId = new Long(now.i, now.t);
  }

  /**
   * Refuses a client's `$clusterTime` that is ahead of the cluster's and does not have its signature.
   * @throws CommandError 211 for another key, 204 for a wrong signature
   */
  refuseForeign(gossiped: Value | undefined): void {
    const time = docOf(gossiped)?.get('clusterTime');
    if (!(time instanceof Timestamp) || time.lessThanOrEqual(this.clock.current())) return;
    const signature = docOf(docOf(gossiped)?.get('signature'));
    const keyId = signature?.get('keyId');
    if (!(keyId instanceof Long) || !keyId.equals(this.keyId)) {
      const id = keyId instanceof Long ? keyId.toString() : '0';
      const shown = `{ ts: Timestamp(${time.t}, ${time.i}) } with id: ${id}`;
      throw new CommandError(
        211,
        'KeyNotFound',
        `Cache Reader No keys found for HMAC that is valid for time: ${shown}`,
      );
    }
    const hash = signature?.get('hash');
    const own = this.signature(time).get('hash');
    if (!(hash instanceof Binary) || !(own instanceof Binary) || hash.toString('hex') !== own.toString('hex')) {
      throw new CommandError(204, 'TimeProofMismatch', 'Proof does not match the cluster time');
    }
  }

  /** `signature` of a `$clusterTime`. */
  signature(time: Timestamp): Doc {
    const range = time.i | rangeMask;
    if (this.#signed?.seconds !== time.t || this.#signed.range !== range) {
      this.#signed = { seconds: time.t, range, signature: this.#sign(time.t, range) };
    }
    return this.#signed.signature;
  }

  /** The key as `admin.system.keys` stores it. */
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
