import { BSON } from 'mongodb';
import { shownName } from '../../cluster/time-series.js';
import { isSendable } from '../../bson/id.js';
import { losslessValue } from '../../bson/sent-value.js';
import type { RawValue } from '../../bson/scan.js';
import type { Mismatch, Suspect } from '../compare/check-again.js';
import type { MismatchKind, PathDifference } from '../compare/compare-documents.js';
import { namedOnBothSides } from '../compare/sides.js';
import type { ComparedCollection } from './comparison-plan.js';

/** A mismatch as it is shown: only namespaces, `_id`s, paths and types. */
export interface DescribedMismatch {
  namespace: string;
  /** Its name on the destination, where that is another one. */
  destination?: string;
  kind: MismatchKind;
  /** As canonical extended JSON; for values that it cannot represent, type byte and bytes. */
  _id: unknown;
  paths: PathDifference[];
  /** ISO 8601. */
  firstSeen: string;
  lastSeen: string;
  looks: number;
  /** False: one side or the other changed before each check, to the end. */
  proven: boolean;
}

type Named = Pick<ComparedCollection, 'database' | 'name' | 'destination'>;

/** A proven mismatch as it is shown. */
export function describeMismatch(
  collection: Named,
  { kind, id, paths, firstSeen_ms, lastSeen_ms, looks }: Mismatch,
): DescribedMismatch {
  const times = { firstSeen: new Date(firstSeen_ms).toISOString(), lastSeen: new Date(lastSeen_ms).toISOString() };
  const named = namedOnBothSides(shownName(collection), shownName(collection.destination));
  return { ...named, kind, _id: idJson(id), paths, ...times, looks, proven: true };
}

/** What differed to the end, and kept changing. */
export function describeSuspect(collection: Named, suspect: Suspect, now_ms: number): DescribedMismatch {
  return { ...describeMismatch(collection, { ...suspect, paths: [], lastSeen_ms: now_ms }), proven: false };
}

/** A value as canonical extended JSON. */
export function idJson(id: RawValue): unknown {
  if (!isSendable(id)) return { type: id.type, base64: Buffer.from(id.bytes).toString('base64') };
  const { v } = BSON.EJSON.serialize({ v: losslessValue(id) }, { relaxed: false });
  return v as unknown;
}
