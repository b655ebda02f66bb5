import { parseCollation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import { elementName, scanElements } from '../../bson/scan.js';
import { RawDocument, type Doc, type Value } from '../../bson/value.js';
import { Int32 } from 'bson';
import { CommandError } from '../../node/command.js';
import { isTrue } from '../../node/doc-fields.js';
import { unsimulated } from '../../node/unsimulated.js';
import { compileProjection } from '../../query/projection.js';
import { failure } from '../failure.js';
import { matchedRecords, writable } from '../read/find-records.js';
import type { StatementResult } from '../session/logical-session.js';
import { recordedResult, statementIds } from '../session/sessions.js';
import { LATEST } from '../storage/time-key.js';
import { runUpdate } from '../write/run-update.js';
import { readModification, updateStatement, type Modification } from '../write/update-statement.js';
import { refuseView } from '../write/refuse-view.js';
import { optionalDoc, targetNamespace, type CommandContext } from './command-context.js';
import { letVariables } from './let-variables.js';
import { updateScope } from './update.js';
import { addWriteConcernError } from './write-reply.js';
import { attempt, runTouching } from './write-statements.js';

/** `findAndModify`: changes or removes one document and returns it, as before or as after. */
export async function findAndModify(context: CommandContext): Promise<Doc> {
  const { request, participation } = context;
  const { body } = request;
  const id = statementIds(body)(0);
  const recorded = recordedResult(participation, id, 'findAndModify');
  if (recorded?.reply !== undefined) return withStatement(repeated(recorded, recorded.reply, body), id, context);
  const remove = isTrue(body.get('remove'));
  if (remove === body.has('update')) {
    throw failure.failedToParse(
      remove ? 'Cannot specify both an update and remove=true' : 'Either an update or remove=true must be specified',
    );
  }
  refuseCombinations(body, remove);
  const { reply, wrote, touched } = await during(context, () =>
    attempt(context, () => runTouching(context, () => (remove ? removeOne(context) : updateOne(context)))),
  );
  if (participation.retryable && wrote) {
    participation.session?.statements.set(id, {
      by: 'findAndModify',
      n: 1,
      nModified: 0,
      upsertedId: undefined,
      reply,
      shows: shownBy(body),
      touched,
    });
  }
  addWriteConcernError(reply, context);
  return reply;
}

function shownBy(body: Doc): 'before' | 'after' | 'removed' {
  if (isTrue(body.get('remove'))) return 'removed';
  return isTrue(body.get('new')) ? 'after' : 'before';
}

/**
 * The reply to a command that was carried out before.
 * @throws CommandError 115 for one that the first write does not answer: servers refuse it with their oplog's entry
 */
function repeated({ shows }: StatementResult, reply: Doc, body: Doc): Doc {
  const lastError = reply.get('lastErrorObject');
  const hasInserted = lastError instanceof Map && lastError.has('upserted');
  if (shows !== shownBy(body) || (hasInserted && !isTrue(body.get('upsert'))))
    throw unsimulated('findAndModify under the number of a different one');
  return new Map(reply);
}

/** 8.0.10 names a statement that had run before, 5.0.7 does not; of the releases between them it is not known. */
function withStatement(reply: Doc, id: number, { state }: CommandContext): Doc {
  if (!state.version.atLeast(8, 0)) return reply;
  const own = ['lastErrorObject', 'value'];
  const before = own.map((name): [string, Value] => [name, reply.get(name) ?? null]);
  return new Map([...before, ['retriedStmtId', new Int32(id)], ...[...reply].filter(([name]) => !own.includes(name))]);
}

/** Failures of writes: an array in a shard key, a conflict, a duplicate key. */
const ofExecution: ReadonlySet<number> = new Set([54, 112, 11_000]);

/** Since 5.0 a failure to write a document carries the prefix of plan execution. */
async function during<T>({ state }: CommandContext, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof CommandError) || !ofExecution.has(error.code) || !state.version.atLeast(5, 0)) throw error;
    throw new CommandError(
      error.code,
      error.codeName,
      `Plan executor error during findAndModify :: caused by :: ${error.message}`,
      error.labels,
      error.extra,
    );
  }
}

/** Refuses options of updates in a removal. @throws CommandError 9 */
function refuseCombinations(body: Doc, remove: boolean): void {
  if (!remove) return;
  if (isTrue(body.get('upsert'))) throw failure.failedToParse('Cannot specify both upsert=true and remove=true');
  if (isTrue(body.get('new')))
    throw failure.failedToParse(
      "Cannot specify both new=true and remove=true; 'remove' always returns the deleted document",
    );
  if (body.has('arrayFilters')) throw failure.failedToParse('Cannot specify arrayFilters and remove=true');
}

interface Outcome {
  readonly reply: Doc;
  readonly wrote: boolean;
}

function removeOne(context: CommandContext): Outcome {
  const { state, participation, request } = context;
  const namespace = targetNamespace(context);
  refuseView(state, namespace);
  const collection = state.catalog.collection(namespace);
  if (collection === undefined) return { reply: replyOf(new Map([['n', new Int32(0)]]), null), wrote: false };
  const view = participation.transaction?.view ?? { time: LATEST, transaction: null };
  const collation = optionalDoc(context, 'collation');
  const found = matchedRecords(collection, optionalDoc(context, 'query') ?? new Map<string, Value>(), view, {
    hint: request.body.get('hint'),
    sort: optionalDoc(context, 'sort'),
    collation: collation === undefined ? collection.collation : parseCollation(collation),
    variables: letVariables(context),
    accept: writable(state.version, collection, request.routed),
  }).next();
  if (found.done === true) return { reply: replyOf(new Map([['n', new Int32(0)]]), null), wrote: false };
  const { record, bytes } = found.value;
  state.writer.delete(collection, record, bytes, participation.transaction);
  return { reply: replyOf(new Map([['n', new Int32(1)]]), projected(context, bytes)), wrote: true };
}

function updateOne(context: CommandContext): Outcome {
  const { body } = context.request;
  const fields: Doc = new Map([...body].filter(([name]) => name !== 'c'));
  const statement = updateStatement(
    fields,
    optionalDoc(context, 'query') ?? new Map<string, Value>(),
    modificationOf(body.get('update') ?? null),
  );
  const outcome = runUpdate(updateScope(context), { ...statement, multi: false, sort: optionalDoc(context, 'sort') });
  const wantsNew = isTrue(body.get('new'));
  const shown = wantsNew ? outcome.after : outcome.before;
  const lastError: Doc = new Map<string, Value>([
    ['n', new Int32(outcome.matched > 0 || outcome.upsertedId !== undefined ? 1 : 0)],
    ['updatedExisting', outcome.matched > 0],
  ]);
  if (outcome.upsertedId !== undefined) lastError.set('upserted', outcome.upsertedId);
  const value = shown === undefined ? null : projected(context, shown);
  return { reply: replyOf(lastError, value), wrote: outcome.modified > 0 || outcome.upsertedId !== undefined };
}

/** The update of a findAndModify is decoded already. It is parsed like that of an update statement. */
function modificationOf(update: Value): Modification {
  const bytes = encodeDocument(new Map([['u', update]]));
  for (const element of scanElements(bytes))
    if (elementName(bytes, element) === 'u') return readModification(bytes, element);
  throw failure.failedToParse('Either an update or remove=true must be specified');
}

function projected(context: CommandContext, bytes: Uint8Array): Value {
  const fields = optionalDoc(context, 'fields') ?? optionalDoc(context, 'projection');
  if (fields === undefined || fields.size === 0) return new RawDocument(bytes);
  return compileProjection(fields, letVariables(context))(decodeDocument(bytes));
}

function replyOf(lastErrorObject: Doc, value: Value): Doc {
  return new Map<string, Value>([
    ['lastErrorObject', lastErrorObject],
    ['value', value],
  ]);
}
