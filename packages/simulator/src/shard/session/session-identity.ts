import { Binary } from 'bson';
import { createHash } from 'node:crypto';
import type { Doc, Value } from '../../bson/value.js';
import { uuidText } from '../../bson/uuid.js';

/** A session id from a client, completed with the user's digest. */
export class SessionIdentity {
  readonly key: string;

  private constructor(
    readonly id: Binary,
    readonly uid: Binary,
  ) {
    this.key = id.toString('hex') + uid.toString('hex');
  }

  /** @param lsid `{id, uid?}`; undefined when it is not one */
  static read(lsid: Value | undefined): SessionIdentity | undefined {
    if (!(lsid instanceof Map)) return undefined;
    const id = lsid.get('id');
    const uid = lsid.get('uid');
    if (!(id instanceof Binary)) return undefined;
    return new SessionIdentity(id, uid instanceof Binary ? uid : NOBODY);
  }

  /** `{id, uid}`, as change events show it. */
  toDoc(): Doc {
    return new Map<string, Value>([
      ['id', this.id],
      ['uid', this.uid],
    ]);
  }

  /** As messages show it: the UUID and the digest. */
  toString(): string {
    return `${uuidText(this.id.buffer)} - ${this.uid.toString('base64')}`;
  }
}

/** The digest of a client that has not logged in: SHA-256 of nothing. */
const NOBODY = new Binary(createHash('sha256').digest());
