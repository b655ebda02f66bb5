import type { Binary } from 'bson';
import { encodeDocument } from '../../bson/encode.js';
import { resumeTokenDocument, type ResumeToken } from '../../bson/resume-token.js';
import { DateTime, type Doc, RawDocument, type Value } from '../../bson/value.js';
import type { EntryNamespace, OplogEntry } from '../oplog/entry.js';
import type { EventStyle } from './event-style.js';

/** One change event before it is encoded. Documents in it may be RawDocuments. */
export interface StreamEvent {
  readonly token: ResumeToken;
  /** `_data` of the token. */
  readonly tokenText: string;
  /** `{_data}`, with `_typeBits` where the server adds them. */
  readonly tokenDocument: Doc;
  readonly doc: Doc;
  readonly invalidates: boolean;
}

/** The position of an event, and its form. */
export interface EventPlace {
  readonly entry: OplogEntry;
  readonly operationIndex: number;
  readonly uuid: Binary | undefined;
  readonly style: EventStyle;
}

/** Distinguishes an event from others at its time. */
interface Identity {
  readonly operationType: string;
  readonly documentKey?: Doc;
  readonly operationDescription?: Doc | undefined;
  /** Only streams with expanded events show it. */
  readonly expanded?: boolean;
}

/** An event with its first fields; `to` of a rename stands even before its token. */
export function beginEvent(place: EventPlace, identity: Identity, first?: readonly [string, Value]): StreamEvent {
  const { entry, style } = place;
  const token = tokenOf(place, identity);
  const tokenDocument = resumeTokenDocument(token);
  const doc: Doc = new Map();
  if (entry.transaction !== undefined) {
    doc.set('txnNumber', entry.transaction.txnNumber);
    doc.set('lsid', entry.transaction.lsid);
  }
  if (first !== undefined) doc.set(first[0], first[1]);
  doc.set('_id', tokenDocument);
  doc.set('operationType', identity.operationType);
  doc.set('clusterTime', entry.clusterTime);
  if (style.expanded && place.uuid !== undefined) doc.set('collectionUUID', place.uuid);
  if (style.wallTime) doc.set('wallTime', new DateTime(BigInt(entry.wallMs)));
  return finished(token, tokenDocument, doc, false);
}

/** An event as streams return it. */
export function finished(token: ResumeToken, tokenDocument: Doc, doc: Doc, invalidates: boolean): StreamEvent {
  return { token, tokenText: tokenDocument.get('_data') as string, tokenDocument, doc, invalidates };
}

/** The token of an event, in the format that its stream uses there. */
export function tokenOf({ entry, operationIndex, uuid, style }: EventPlace, identity: Identity): ResumeToken {
  const version = style.tokenVersion(entry.clusterTime, operationIndex);
  const token: ResumeToken = {
    clusterTime: entry.clusterTime,
    version,
    tokenType: 'event',
    txnOpIndex: operationIndex,
    fromInvalidate: false,
  };
  if (uuid !== undefined) token.uuid = uuid;
  const { operationType, documentKey, operationDescription } = identity;
  if (version === 1 && identity.expanded !== true) {
    if (documentKey !== undefined) token.eventIdentifier = documentKey;
    return token;
  }
  const identifier: Doc = new Map<string, Value>([['operationType', operationType]]);
  if (documentKey !== undefined) identifier.set('documentKey', documentKey);
  else if (operationDescription !== undefined) identifier.set('operationDescription', operationDescription);
  token.eventIdentifier = identifier;
  return token;
}

/** `{db, coll}` as events show it. */
export function namespaceDoc(db: string, collection: string): Doc {
  return new Map([
    ['db', db],
    ['coll', collection],
  ]);
}

const namespaceDocs = new WeakMap<EntryNamespace, RawDocument>();

/** The same of what an entry changed, encoded once. */
export function targetDoc(target: EntryNamespace): RawDocument {
  const known = namespaceDocs.get(target);
  if (known !== undefined) return known;
  const made = new RawDocument(encodeDocument(namespaceDoc(target.db, target.collection)));
  namespaceDocs.set(target, made);
  return made;
}
