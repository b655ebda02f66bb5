import { parseCollation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { compileMatcher } from '../../query/matcher.js';
import { bucketDocument, measurementsOf, readBucket, reduced, timeOf } from '../../time-series/bucket.js';
import {
  bucketIndexKey,
  metaFilter,
  metaOperators,
  requiredMetaFilter,
  targetingFilter,
} from '../../time-series/translation.js';
import type { CommandContext } from '../commands/command-context.js';
import { deleteInBatches } from '../commands/delete.js';
import { letVariables } from '../commands/let-variables.js';
import { updateScope } from '../commands/update.js';
import { writeReply } from '../commands/write-reply.js';
import { runStatements, statementBytes, type StatementOutcome } from '../commands/write-statements.js';
import { failure } from '../failure.js';
import { type MatchedRecord, matchedRecords, writable } from '../read/find-records.js';
import { statementIds } from '../session/sessions.js';
import { LATEST } from '../storage/time-key.js';
import { runUpdate } from '../write/run-update.js';
import { readUpdateStatement, type UpdateStatement } from '../write/update-statement.js';
import type { OpenBucket, Row } from './open-buckets.js';
import { refuseSeriesInTransaction, type SeriesTarget } from './series-target.js';

const NOW = { time: LATEST, transaction: null };
const INSERTED: StatementOutcome = { wrote: true, n: 1, nModified: 0, upsertedId: undefined };

/** `insert` into a time-series collection: the measurements join buckets, with one write for each bucket. */
export async function insertMeasurements(context: CommandContext, target: SeriesTarget): Promise<Doc> {
  refuseSeriesInTransaction(context, 'insert into', target);
  const documents = statementBytes(context.request, 'documents');
  const batches = new Batches(context, target, documents);
  try {
    const tally = await runStatements(context, documents, (document) => batches.insert(document));
    return writeReply(context, tally, false);
  } finally {
    batches.abandon();
  }
}

/** A measurement of a command with its bucket. */
interface Placed {
  readonly row: Row;
  readonly open: OpenBucket;
}

/** The measurements of one command, divided into buckets. */
class Batches {
  #placed: Map<Uint8Array, Placed | CommandError> | undefined;

  constructor(
    private readonly context: CommandContext,
    private readonly target: SeriesTarget,
    private readonly documents: readonly Uint8Array[],
  ) {}

  /** Stores a measurement together with the others of its bucket, unless it was stored with them before. */
  insert(document: Uint8Array): StatementOutcome {
    const placed = this.#all().get(document);
    if (placed instanceof CommandError) throw placed;
    if (placed === undefined) throw failure.badValue('the measurement has no place');
    const { row, open } = placed;
    const { buckets, rules } = this.target;
    const { openBuckets, writer } = this.context.state;
    if (!row.stored && !this.#storesAll()) openBuckets.store(buckets, rules, open);
    if (open.stored !== undefined) writer.noteInserted(buckets, open.stored);
    return INSERTED;
  }

  /** What was not stored waits no longer. */
  abandon(): void {
    for (const placed of this.#placed?.values() ?? []) {
      if (placed instanceof CommandError || placed.row.stored) continue;
      placed.open.waiting = placed.open.waiting.filter((row) => row !== placed.row);
      this.context.state.openBuckets.forget(placed.open);
    }
  }

  get #isOrdered(): boolean {
    return this.context.request.body.get('ordered') !== false;
  }

  #storesAll(): boolean {
    if (!this.#isOrdered) return false;
    const waiting = [...this.#all().values()].flatMap((each) =>
      each instanceof CommandError || each.row.stored ? [] : [each.open],
    );
    const { buckets, rules } = this.target;
    return this.context.state.openBuckets.storeTogether(buckets, rules, [...new Set(waiting)]);
  }

  #all(): Map<Uint8Array, Placed | CommandError> {
    this.#placed ??= this.#place();
    return this.#placed;
  }

  /** An ordered command ends at the first measurement that cannot be stored. Repeated statements do nothing. */
  #place(): Map<Uint8Array, Placed | CommandError> {
    const placed = new Map<Uint8Array, Placed | CommandError>();
    const { participation, request } = this.context;
    const idOf = statementIds(request.body);
    for (const [index, document] of this.documents.entries()) {
      if (participation.retryable && participation.session?.statements.has(idOf(index)) === true) continue;
      const place = this.#placeOf(document);
      placed.set(document, place);
      if (place instanceof CommandError && this.#isOrdered) break;
    }
    return placed;
  }

  #placeOf(document: Uint8Array): Placed | CommandError {
    const { state, request } = this.context;
    const { buckets, rules } = this.target;
    try {
      const keepsEmpty = isTrue(request.body.get('bypassEmptyTsReplacement'));
      const prepared = state.writer.prepareInsert(document, keepsEmpty);
      const measurement = decodeDocument(prepared);
      const time = timeOf(measurement, rules.series);
      if (time === undefined)
        throw failure.badValue(
          `'${rules.series.timeField}' must be present and contain a valid BSON UTC datetime value`,
        );
      const row: Row = { measurement, bytes: prepared.length, stored: false };
      return { row, open: state.openBuckets.take(buckets, rules, row, time) };
    } catch (error) {
      if (error instanceof CommandError) return error;
      throw error;
    }
  }
}

/** `delete` from a time-series collection: whole buckets by their metadata, and since 7.0 any measurements. */
export async function deleteMeasurements(context: CommandContext, target: SeriesTarget): Promise<Doc> {
  refuseSeriesInTransaction(context, 'delete from', target);
  const statements = statementBytes(context.request, 'deletes');
  const tally = await runStatements(context, statements, (statement) =>
    deleteMatching(context, target, decodeDocument(statement)),
  );
  return writeReply(context, tally, false);
}

function deleteMatching(context: CommandContext, target: SeriesTarget, statement: Doc): StatementOutcome {
  const { state, participation } = context;
  const filter = statement.get('q');
  const isSingle = numberOf(statement.get('limit')) === 1;
  if (!(filter instanceof Map)) throw failure.typeMismatch("BSON field 'delete.deletes.q' is missing or not an object");
  if (!isSingle && participation.retryable)
    throw failure.invalidOptions('Cannot use (or request) retryable writes with limit=0');
  const whole = state.version.atLeast(7, 0)
    ? wholeBuckets(target, filter, isSingle)
    : requiredWhole(target, filter, isSingle);
  const n =
    whole === undefined
      ? deleteParts(context, target, statement, filter, isSingle)
      : deleteWhole(context, target, statement, whole);
  return { wrote: n > 0, n, nModified: 0, upsertedId: undefined };
}

/** The buckets of a filter on metadata. Undefined for other filters. */
function wholeBuckets({ rules }: SeriesTarget, filter: Doc, isSingle: boolean): Doc | undefined {
  return isSingle ? undefined : metaFilter(rules.series, filter);
}

/** @throws CommandError 20 or 72 for what releases before 7.0 do not delete */
function requiredWhole({ rules: { series } }: SeriesTarget, filter: Doc, isSingle: boolean): Doc {
  if (series.metaField === undefined && filter.size > 0)
    throw failure.invalidOptions(
      'Cannot perform a delete with a non-empty query on a time-series collection that does not have a metaField',
    );
  if (isSingle)
    throw new CommandError(20, 'IllegalOperation', 'Cannot perform a non-multi delete on a time-series collection');
  return requiredMetaFilter(series, filter);
}

function foundBuckets(context: CommandContext, target: SeriesTarget, filter: Doc, statement: Doc): MatchedRecord[] {
  const { state, request } = context;
  const { buckets } = target;
  const options = {
    hint: translatedHint(target, statement.get('hint'), context),
    sort: undefined,
    collation: collationOf(target, statement),
    variables: letVariables(context),
    accept: writable(state.version, buckets, request.routed),
  };
  return [...matchedRecords(buckets, filter, NOW, options)];
}

function collationOf({ buckets }: SeriesTarget, statement: Doc) {
  const collation = statement.get('collation');
  return collation instanceof Map ? parseCollation(collation) : buckets.collation;
}

/** A hint by key names the fields of measurements. */
export function translatedHint(
  { rules: { series } }: SeriesTarget,
  hint: Value | undefined,
  { state }: Pick<CommandContext, 'state'>,
): Value | undefined {
  if (!(hint instanceof Map) || hint.has('$natural')) return hint;
  return bucketIndexKey(series, hint, state.version) ?? hint;
}

function countOf({ rules: { series } }: SeriesTarget, found: readonly MatchedRecord[]): number {
  return found.reduce((total, { bytes }) => total + readBucket(decodeDocument(bytes), series).count, 0);
}

function deleteWhole(context: CommandContext, target: SeriesTarget, statement: Doc, filter: Doc): number {
  const { state } = context;
  const found = foundBuckets(context, target, filter, statement);
  const n = countOf(target, found);
  if (state.version.atLeast(6, 1)) deleteInBatches(state, target.buckets, found);
  else for (const { record, bytes } of found) state.writer.delete(target.buckets, record, bytes, null);
  return n;
}

/** Deletes single measurements: a bucket without any is deleted, others are replaced by what is left of them. */
function deleteParts(
  context: CommandContext,
  target: SeriesTarget,
  statement: Doc,
  filter: Doc,
  isSingle: boolean,
): number {
  const { state } = context;
  const { buckets, rules } = target;
  const matches = compileMatcher(filter, collationOf(target, statement), letVariables(context));
  let n = 0;
  for (const { record, bytes } of foundBuckets(context, target, targetingFilter(rules.series, filter), statement)) {
    const bucket = readBucket(decodeDocument(bytes), rules.series);
    const all = measurementsOf(bucket, rules.series);
    const [first] = all.filter(matches);
    const gone = isSingle ? (first === undefined ? [] : [first]) : all.filter(matches);
    if (gone.length === 0) continue;
    const rest = all.filter((each) => !gone.includes(each));
    if (rest.length === 0) state.writer.delete(buckets, record, bytes, null);
    else {
      const left = encodeDocument(bucketDocument(reduced(bucket, rest, rules, state.version)));
      state.writer.update(buckets, record, bytes, left, { operators: undefined, replacement: true, byId: true }, null);
    }
    n += gone.length;
    if (isSingle) break;
  }
  return n;
}

/** `update` of a time-series collection: the metadata of whole buckets. */
export async function updateMeasurements(context: CommandContext, target: SeriesTarget): Promise<Doc> {
  refuseSeriesInTransaction(context, 'update', target);
  const statements = statementBytes(context.request, 'updates');
  const scope = { ...updateScope(context), namespace: target.buckets.namespace };
  const tally = await runStatements(context, statements, (bytes) => {
    const statement = bucketUpdate(context, target, readUpdateStatement(bytes, context.state.version));
    const found = foundBuckets(context, target, statement.filter, new Map());
    const n = countOf(target, found);
    const { matched, modified } = runUpdate(scope, statement);
    // Of buckets of which some do not change, those are counted as if all had as many measurements.
    const nModified = modified === matched ? n : Math.round((n * modified) / Math.max(1, matched));
    return { wrote: modified > 0, n, nModified, upsertedId: undefined };
  });
  return writeReply(context, tally, true);
}

/** @throws CommandError 72 for updates that no time-series collection takes */
function bucketUpdate(context: CommandContext, target: SeriesTarget, statement: UpdateStatement): UpdateStatement {
  const { series } = target.rules;
  if (!statement.multi) throw failure.invalidOptions('Cannot perform a non-multi update on a time-series collection');
  if (statement.upsert) throw failure.invalidOptions('Cannot perform an upsert on a time-series collection');
  if (series.metaField === undefined)
    throw failure.invalidOptions('Cannot perform an update on a time-series collection that does not have a metaField');
  const { modification } = statement;
  if (modification.kind !== 'operators')
    throw failure.invalidOptions(
      modification.kind === 'replacement'
        ? 'Cannot perform an update on a time-series collection using a replacement document'
        : 'Cannot perform an update on a time-series collection using a pipeline update',
    );
  return {
    ...statement,
    filter: requiredMetaFilter(series, statement.filter),
    modification: { kind: 'operators', operators: metaOperators(series, modification.operators) },
    hint: translatedHint(target, statement.hint, context),
  };
}
