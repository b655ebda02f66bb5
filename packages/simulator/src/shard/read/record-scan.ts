import { Long } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { unsimulated } from '../../node/unsimulated.js';
import { type CommandContext } from '../commands/command-context.js';
import { typeName } from '../../bson/type-of.js';
import { failure } from '../failure.js';
import { visibleBytes, type DocumentRecord, type ReadView } from '../storage/record.js';
import type { ScanPlan } from './scan-plan.js';

/** The record numbers of a find: where it begins, where it is, and whether they are shown. */
export class RecordScan {
  /** The number of the last record that the scan has seen. */
  seen: number | undefined;

  constructor(
    /** Begins after this record. */
    private readonly after: number | undefined,
    readonly showsToken: boolean,
    readonly showsIds: boolean,
  ) {}

  /** The position as replies show it: `{$recordId}`, null before the first record. */
  get token(): Doc {
    return new Map<string, Value>([['$recordId', this.seen === undefined ? null : Long.fromNumber(this.seen)]]);
  }

  /** @throws CommandError 211 when the record to begin after is gone */
  *from(plan: ScanPlan, view: ReadView): Generator<DocumentRecord> {
    const { after } = this;
    if (after !== undefined) {
      const [record] = plan.records(view, after - 1);
      if (record?.id !== after || visibleBytes(record, view) === null) throw recordGone(after);
    }
    yield* plan.records(view, after);
  }
}

/** Parses `$_requestResumeToken`, `$_resumeAfter` and `showRecordId`. @throws CommandError 2 or 14, or 115 */
export function recordScan(context: CommandContext): RecordScan | undefined {
  const { body } = context.request;
  const requested = body.get('$_requestResumeToken');
  if (requested !== undefined && typeof requested !== 'boolean')
    throw failure.typeMismatch(
      `Field '$_requestResumeToken' should be a boolean value, but found: ${typeName(requested)}`,
    );
  const after = body.get('$_resumeAfter');
  const showsIds = isTrue(body.get('showRecordId'));
  if (requested !== true) {
    if (after !== undefined) throw failure.badValue("'requestResumeToken' must be true if 'resumeAfter' is specified");
    return showsIds ? new RecordScan(undefined, false, true) : undefined;
  }
  refuseOtherOrders(body);
  return new RecordScan(after === undefined ? undefined : recordOfToken(after), true, showsIds);
}

function refuseOtherOrders(body: Doc): void {
  const hint = body.get('hint');
  if (!(hint instanceof Map) || hint.size !== 1 || numberOf(hint.get('$natural')) !== 1)
    throw failure.badValue("hint must be {$natural:1} if 'requestResumeToken' is enabled");
  const sort = body.get('sort');
  if (sort instanceof Map && sort.size > 0 && numberOf(sort.get('$natural')) !== 1)
    throw failure.badValue("sort must be unset or {$natural:1} if 'requestResumeToken' is enabled");
}

/** A token without a record begins at the first one. */
function recordOfToken(token: Value): number | undefined {
  if (token instanceof Map && token.size === 0) return undefined;
  const id = token instanceof Map && token.size === 1 ? token.get('$recordId') : undefined;
  if (id === null) return undefined;
  if (id instanceof Long) return id.toNumber();
  throw failure.badValue(
    "Malformed resume token: the '_resumeAfter' object must contain exactly one field named '$recordId', of type " +
      'NumberLong, jstOID or jstNULL.',
  );
}

function recordGone(id: number): CommandError {
  return new CommandError(
    211,
    'KeyNotFound',
    'Failed to resume collection scan: the recordId from which we are attempting to resume no longer exists in the ' +
      `collection. recordId: RecordId(${id})`,
  );
}

/** Adds the record's number to each document, after the projection. @throws CommandError 115 for a sorted result */
export function withRecordId(
  records: RecordScan | undefined,
  isSorted: boolean,
  project: ((bytes: Uint8Array) => Uint8Array) | undefined,
): ((bytes: Uint8Array) => Uint8Array) | undefined {
  if (records?.showsIds !== true) return project;
  if (isSorted) throw unsimulated('showRecordId of a read that no index sorts');
  return (bytes) => {
    const document = decodeDocument(project === undefined ? bytes : project(bytes));
    return encodeDocument(document.set('$recordId', Long.fromNumber(records.seen ?? 0)));
  };
}
