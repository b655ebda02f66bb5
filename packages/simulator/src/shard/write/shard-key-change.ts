import { compareValues } from '../../bson/compare.js';
import { scanPath } from '../../bson/scan.js';
import type { Doc, Value } from '../../bson/value.js';
import { RawDocument } from '../../bson/value.js';
import { CommandError, type RoutedAccess } from '../../node/command.js';
import { documentKeyFrom } from '../oplog/document-key.js';
import { failure } from '../failure.js';
import type { ServerVersion } from '../../node/server-version.js';
import { equalityFields } from '../../query/bounds.js';
import type { Participation } from '../session/sessions.js';
import type { Collection } from '../storage/collection.js';
import { sameFields } from './document-writer.js';

/** Code of the refusal that asks a router to move a document. It does not end a transaction. */
export const WOULD_CHANGE_OWNING_SHARD = 283;

/** An update that may change a document's shard key. */
interface KeyChange {
  readonly collection: Collection;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  readonly participation: Participation;
  readonly routed: RoutedAccess | undefined;
  readonly multi: boolean;
  readonly filter: Doc;
  readonly version: ServerVersion;
}

/**
 * Refuses a change of the shard key outside of a session, and one that moves the document to another shard. The latter
 * fails with 283 and the fields `preImage`, `postImage`, `shouldUpsert`, and the router runs it as a delete and an
 * insert.
 */
export function refuseShardKeyChange(change: KeyChange): void {
  const { collection, before, after, participation, routed } = change;
  const { shardKey } = collection.target;
  if (routed === undefined || shardKey === undefined) return;
  if (sameFields(before, after, shardKey.map(firstName))) return;
  if (!keyChanged(before, after, shardKey)) return;
  refuseArrays(after, shardKey);
  if (change.multi)
    throw failure.invalidOptions('Multi-update operations are not allowed when updating the shard key field.');
  if (!change.version.atLeast(7, 0)) refuseUnnamedKey(change.filter, shardKey);
  if (!participation.retryable && participation.transaction === null) {
    throw new CommandError(
      20,
      'IllegalOperation',
      'Must run update to shard key field in a multi-statement transaction or with retryWrites: true.',
    );
  }
  if (routed.takes(collection.namespace, after)) return;
  throw new CommandError(
    WOULD_CHANGE_OWNING_SHARD,
    'WouldChangeOwningShard',
    'The update would cause the doc to change owning shards',
    [],
    new Map<string, Value>([
      ['preImage', new RawDocument(before)],
      ['postImage', new RawDocument(after)],
      ['shouldUpsert', false],
    ]),
  );
}

/** @throws CommandError 54 for a document with an array in its shard key */
function refuseArrays(document: Uint8Array, shardKey: readonly string[]): void {
  const path = shardKey.find((each) => Array.isArray(scanPath(document, each)));
  if (path === undefined) return;
  throw new CommandError(
    54,
    'NotSingleValueField',
    `After applying the update to the document, the field '${path}' was found to be an array or array descendant.`,
  );
}

/** Until 6.0 the filter must name the whole key. @throws CommandError 31025 */
function refuseUnnamedKey(filter: Doc, shardKey: readonly string[]): void {
  const named = equalityFields(filter);
  if (shardKey.every((path) => named.has(path))) return;
  throw new CommandError(
    31_025,
    'Location31025',
    'Shard key update is not allowed without specifying the full shard key in the query',
  );
}

/**
 * Refuses an upsert whose document belongs to another shard than its filter. Outside of a session the refusal is final.
 * Within one the router then inserts the document there.
 */
export function refuseForeignUpsert({ collection, filter, document, participation, routed }: ForeignUpsert): void {
  const { shardKey } = collection.target;
  if (routed === undefined || shardKey === undefined) return;
  refuseArrays(document, shardKey);
  if (routed.takes(collection.namespace, document)) return;
  if (!participation.retryable && participation.transaction === null) {
    throw new CommandError(
      20,
      'IllegalOperation',
      'The upsert document could not be inserted onto the shard targeted by the query, since its shard key ' +
        'belongs on a different shard. Cross-shard upserts are only allowed when running in a transaction or ' +
        'with retryWrites: true.',
    );
  }
  throw new CommandError(
    WOULD_CHANGE_OWNING_SHARD,
    'WouldChangeOwningShard',
    'The document we are inserting belongs on a different shard',
    [],
    new Map<string, Value>([
      ['preImage', filter],
      ['postImage', new RawDocument(document)],
      ['shouldUpsert', true],
    ]),
  );
}

/** A document that an upsert would insert. */
interface ForeignUpsert extends Pick<KeyChange, 'collection' | 'participation' | 'routed'> {
  readonly filter: Doc;
  readonly document: Uint8Array;
}

function firstName(path: string): string {
  return path.split('.', 1)[0] ?? path;
}

/** A number of another type is the same key. */
function keyChanged(before: Uint8Array, after: Uint8Array, shardKey: readonly string[]): boolean {
  const [old, present] = [documentKeyFrom(before, shardKey), documentKeyFrom(after, shardKey)];
  return shardKey.some((path) => compareValues(old.get(path) ?? null, present.get(path) ?? null) !== 0);
}
