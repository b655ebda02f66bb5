import { Long } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import { type Doc, RawDocument, type Value } from '../../bson/value.js';
import { numberOf, textOrEmpty } from '../../node/doc-fields.js';
import type { PrivilegeSet } from '../privilege/privilege-set.js';

const bytesPerMegabyte = 1024 * 1024;

/** Removes what the caller may not see from a reply of `listDatabases`, and adds the sizes up again. */
export function keepVisibleDatabases(reply: Doc, privileges: PrivilegeSet): void {
  const entries = listIn(reply.get('databases')).filter((entry) =>
    privileges.allowsAnythingIn(textOrEmpty(entry.get('name'))),
  );
  reply.set('databases', entries);
  if (!reply.has('totalSize')) return;
  const total = entries.reduce((sum, entry) => sum + (numberOf(entry.get('sizeOnDisk')) ?? 0), 0);
  reply
    .set('totalSize', Long.fromNumber(total))
    .set('totalSizeMb', Long.fromNumber(Math.floor(total / bytesPerMegabyte)));
}

/** The same for `listCollections` with `authorizedCollections`. */
export function keepVisibleCollections(reply: Doc, db: string, privileges: PrivilegeSet): void {
  const cursor = reply.get('cursor');
  if (!(cursor instanceof Map)) return;
  const visible = listIn(cursor.get('firstBatch')).filter((entry) =>
    privileges.allowsAnything({ kind: 'namespace', db, collection: textOrEmpty(entry.get('name')) }),
  );
  cursor.set('firstBatch', visible);
}

function listIn(value: Value | undefined): Doc[] {
  return (Array.isArray(value) ? value : []).flatMap((each) => {
    if (each instanceof RawDocument) return [decodeDocument(each.bytes)];
    return each instanceof Map ? [each] : [];
  });
}
