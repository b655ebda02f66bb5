import { scanPath } from '../../bson/scan.js';
import type { Value } from '../../bson/value.js';
import type { ExpressionContext } from '../../expression/variables.js';
import { CommandError, type RoutedAccess } from '../../node/command.js';
import { matchedRecords, type MatchedRecord, writable } from '../read/find-records.js';
import type { Participation } from '../session/sessions.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import { LATEST } from '../storage/time-key.js';
import { failure } from '../failure.js';
import { collectionForWrite, refuseInvalidDocument } from './collection-access.js';
import { modifiedDocument, type ReadUpdate, readUpdate, upsertedDocument } from './compute-update.js';
import { refuseStoredDollarNamesOf44 } from './dollar-fields.js';
import { refuseInvalidId } from './document-checks.js';
import { refuseView } from './refuse-view.js';
import { refuseForeignUpsert, refuseShardKeyChange } from './shard-key-change.js';
import type { UpdateStatement } from './update-statement.js';

/** What an update needs besides its statement. */
export interface UpdateScope {
  readonly state: ShardState;
  readonly namespace: string;
  readonly participation: Participation;
  readonly routed: RoutedAccess | undefined;
  readonly bypassValidation: boolean;
  /** `bypassEmptyTsReplacement` (7.0): `Timestamp(0, 0)` is stored as it is. */
  readonly keepEmptyTimestamps: boolean;
  readonly variables: ExpressionContext;
}

/** The result of an update. */
interface UpdateOutcome {
  readonly matched: number;
  readonly modified: number;
  readonly upsertedId: Value | undefined;
  /** The last matched document, before and after. Undefined where there was or is none. */
  readonly before: Uint8Array | undefined;
  readonly after: Uint8Array | undefined;
}

const NOTHING: UpdateOutcome = { matched: 0, modified: 0, upsertedId: undefined, before: undefined, after: undefined };

/** Runs one update statement. @throws CommandError as the server does, or HeldByTransaction */
export function runUpdate(scope: UpdateScope, statement: UpdateStatement): UpdateOutcome {
  const { state, namespace, participation } = scope;
  if (statement.multi && participation.retryable)
    throw failure.invalidOptions('Cannot use (or request) retryable writes with multi=true');
  refuseView(state, namespace);
  const read = readUpdate(statement, scope.variables);
  const existing = state.catalog.collection(namespace);
  if (existing === undefined && !statement.upsert) return NOTHING;
  const collection = existing ?? collectionForWrite(state, namespace);
  const matched = matchesOf(scope, collection, statement);
  if (matched.length === 0 && statement.upsert) return runUpsert(scope, collection, read);
  let outcome = NOTHING;
  for (const match of matched) {
    const after = modifyOne(scope, collection, read, match);
    outcome = {
      matched: outcome.matched + 1,
      modified: outcome.modified + (after === undefined ? 0 : 1),
      upsertedId: undefined,
      before: match.bytes,
      after: after ?? match.bytes,
    };
  }
  return outcome;
}

/** A multi update collects all matches first, so that a changed document does not match again. */
function matchesOf(
  { state, participation, routed, variables }: UpdateScope,
  collection: Collection,
  statement: UpdateStatement,
): MatchedRecord[] {
  const view = participation.transaction?.view ?? { time: LATEST, transaction: null };
  const { hint, sort } = statement;
  const collation = statement.collation ?? collection.collation;
  const found = matchedRecords(collection, statement.filter, view, {
    hint,
    sort,
    collation,
    variables,
    accept: writable(state.version, collection, routed),
  });
  if (statement.multi) return [...found];
  const first = found.next();
  return first.done === true ? [] : [first.value];
}

function stampOf({ state, keepEmptyTimestamps }: UpdateScope): (document: Uint8Array) => Uint8Array {
  return (document) => (keepEmptyTimestamps ? document : state.writer.stamp(document));
}

/** Changes one document. Undefined when nothing changes. */
function modifyOne(
  scope: UpdateScope,
  collection: Collection,
  read: ReadUpdate,
  match: MatchedRecord,
): Uint8Array | undefined {
  const { state, participation, routed } = scope;
  const modified = modifiedDocument(read, match.bytes, stampOf(scope));
  if (modified === undefined) return undefined;
  const { document, origin } = modified;
  if (!state.version.atLeast(5, 0)) refuseStoredDollarNamesOf44(document);
  refuseTooLarge(document);
  if (collection.cap !== undefined && document.length !== match.bytes.length && !state.version.atLeast(8, 0)) {
    throw new CommandError(
      10003,
      'CannotGrowDocumentInCappedNamespace',
      `Cannot change the size of a document in a capped collection: ${match.bytes.length} != ${document.length}`,
    );
  }
  if (!scope.bypassValidation) refuseInvalidDocument(state, collection, document, match.bytes);
  refuseShardKeyChange({
    collection,
    before: match.bytes,
    after: document,
    participation,
    routed,
    multi: read.statement.multi,
    filter: read.statement.filter,
    version: state.version,
  });
  state.writer.update(collection, match.record, match.bytes, document, origin, participation.transaction);
  return document;
}

function runUpsert(scope: UpdateScope, collection: Collection, read: ReadUpdate): UpdateOutcome {
  const { state, participation } = scope;
  const document = upsertedDocument(read, stampOf(scope));
  if (!state.version.atLeast(5, 0)) refuseStoredDollarNamesOf44(document);
  refuseInvalidId(document);
  refuseTooLarge(document);
  refuseForeignUpsert({ collection, filter: read.statement.filter, document, participation, routed: scope.routed });
  if (!scope.bypassValidation) refuseInvalidDocument(state, collection, document, undefined);
  state.writer.insert(collection, document, participation.transaction);
  return { matched: 0, modified: 0, upsertedId: scanPath(document, '_id') ?? null, before: undefined, after: document };
}

/** Largest document that an update may leave, 16 MB (manual, "MongoDB Limits"). */
const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;

function refuseTooLarge(document: Uint8Array): void {
  if (document.length <= DOCUMENT_BYTES_MAX) return;
  throw new CommandError(
    17419,
    'Location17419',
    `Resulting document after update is larger than ${DOCUMENT_BYTES_MAX}`,
  );
}
