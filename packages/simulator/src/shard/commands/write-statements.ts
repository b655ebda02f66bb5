import { encodeDocument } from '../../bson/encode.js';
import { RawDocument } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { WOULD_CHANGE_OWNING_SHARD } from '../write/shard-key-change.js';
import { typeName } from '../../bson/type-of.js';
import { isUnsimulated } from '../../node/unsimulated.js';
import { waitWithin } from '../command-limits.js';
import { failure } from '../failure.js';
import type { StatementResult, TouchedDocument } from '../session/logical-session.js';
import { recordedResult, statementIds } from '../session/sessions.js';
import { HeldByTransaction } from '../storage/write-unit.js';
import type { CommandContext } from './command-context.js';
import { targetNamespace } from './command-context.js';
import { requireExpectedCollection } from './expected-collection.js';
import { WriteTally } from './write-reply.js';

/** Statements of one command at most, as on the server (`maxWriteBatchSize`). */
const STATEMENTS_MAX = 100_000;

/**
 * The statements of a write command as bytes, from its document sequence or its array.
 * @throws CommandError for none or too many
 */
export function statementBytes(request: CommandRequest, field: string): Uint8Array[] {
  const statements = request.sequences.get(field) ?? arrayStatements(request, field);
  if (statements.length === 0 || statements.length > STATEMENTS_MAX) {
    throw new CommandError(
      16,
      'InvalidLength',
      `Write batch sizes must be between 1 and ${STATEMENTS_MAX}. Got ${statements.length} operations.`,
    );
  }
  return statements;
}

function arrayStatements(request: CommandRequest, field: string): Uint8Array[] {
  const array = request.body.get(field);
  if (!Array.isArray(array)) {
    if (array === undefined) {
      throw new CommandError(
        40414,
        'Location40414',
        `BSON field '${request.name}.${field}' is missing but a required field`,
      );
    }
    throw failure.typeMismatch(
      `BSON field '${request.name}.${field}' is the wrong type '${typeName(array)}', expected type 'array'`,
    );
  }
  return array.map((element, at) => {
    if (element instanceof RawDocument) return element.bytes;
    if (element instanceof Map) return encodeDocument(element);
    throw failure.typeMismatch(
      `BSON field '${request.name}.${field}.${at}' is the wrong type '${typeName(element)}', expected type 'object'`,
    );
  });
}

/** The result of one statement. */
export interface StatementOutcome {
  /** False when nothing changed. Such a statement leaves no record, and runs again when repeated. */
  readonly wrote: boolean;
  readonly n: number;
  readonly nModified: number;
  readonly upsertedId: StatementResult['upsertedId'];
}

/**
 * Runs the statements of a write command in turn. Answers repeated retryable ones from the record, waits for
 * transactions that hold a document, collects errors, and stops at the first one when ordered.
 */
export async function runStatements(
  context: CommandContext,
  statements: readonly Uint8Array[],
  run: (statement: Uint8Array) => StatementOutcome,
): Promise<WriteTally> {
  const { request, participation, state } = context;
  const tally = new WriteTally();
  const namespace = targetNamespace(context);
  const ordered = request.body.get('ordered') !== false;
  const idOf = statementIds(request.body);
  let statement = statements[0] as Uint8Array;
  let touched: TouchedDocument | undefined;
  const write = (): StatementOutcome => {
    request.routed?.refuseStale();
    requireExpectedCollection(context, namespace, state.catalog.collection(namespace));
    const outcome = run(statement);
    if (participation.retryable) touched = state.writer.lastWritten;
    return outcome;
  };
  for (let index = 0; index < statements.length; index += 1) {
    const id = idOf(index);
    statement = statements[index] as Uint8Array;
    try {
      const recorded = recordedResult(participation, id, request.name);
      const outcome =
        recorded === undefined
          ? (attemptAtOnce(context, write) ?? (await attempt(context, write)))
          : { ...recorded, wrote: true };
      if (recorded !== undefined) tally.retried.push(id);
      add(tally, index, outcome);
      if (participation.retryable && recorded === undefined && outcome.wrote) {
        const { n, nModified, upsertedId } = outcome;
        participation.session?.statements.set(id, {
          by: request.name,
          n,
          nModified,
          upsertedId,
          reply: undefined,
          touched,
        });
      }
    } catch (error) {
      if (!(error instanceof CommandError) || endsCommand(error)) throw error;
      tally.addError(index, error);
      if (participation.transaction !== null && error.code !== WOULD_CHANGE_OWNING_SHARD) abortTransaction(context);
      if (ordered || participation.transaction !== null || isStale(error)) break;
    }
  }
  return tally;
}

/** The result of a statement, and the last document it wrote. */
type Touching<T> = T & { readonly touched?: TouchedDocument | undefined };

/**
 * Runs a statement and returns which document it wrote. Every statement checks anew whether the router's ownership is
 * current, because it may have waited for a transaction.
 */
export function runTouching<T extends object>(
  { request, state, participation }: CommandContext,
  run: () => T,
): Touching<T> {
  request.routed?.refuseStale();
  const outcome = run();
  return participation.retryable ? { ...outcome, touched: state.writer.lastWritten } : outcome;
}

/**
 * Undefined when a running transaction holds the document. Mostly none does, and awaiting a promise costs more than the
 * write.
 */
function attemptAtOnce<T>({ state, request }: CommandContext, write: () => T): T | undefined {
  try {
    return state.writeBlock.actAs(request.connection, write);
  } catch (error) {
    if (error instanceof HeldByTransaction) return undefined;
    throw error;
  }
}

/**
 * Runs a write that is not part of a batch.
 * @throws CommandError 112 when a transaction conflicts with another's change
 */
export async function attempt<T>(context: CommandContext, write: () => T): Promise<T> {
  for (;;) {
    try {
      return context.state.writeBlock.actAs(context.request.connection, write);
    } catch (error) {
      if (!(error instanceof HeldByTransaction)) throw error;
      if (context.participation.transaction !== null) {
        abortTransaction(context);
        throw failure.writeConflict();
      }
      const before = context.state.interruption.count;
      await waitWithin(error.holder.ended, context.request.body, context.request.signal);
      context.state.interruption.refuseSince(before);
    }
  }
}

/** The reply's fields for a recorded or new outcome. */
function add(tally: WriteTally, index: number, outcome: StatementOutcome): void {
  tally.n += outcome.n;
  tally.nModified += outcome.nModified;
  if (outcome.upsertedId !== undefined) tally.addUpserted(index, outcome.upsertedId);
}

function abortTransaction({ state, participation }: CommandContext): void {
  if (participation.session !== null) state.sessions.abort(participation.session);
}

/** Conflicts, lost sessions, interruptions and an unexpected collection end the whole command, not one statement. */
const endingCodes: ReadonlySet<number> = new Set([112, 225, 251, 361, 11600, 11602]);

/** The shard owns other chunks than the router assumes: the rest of the batch must go elsewhere. */
function isStale(error: CommandError): boolean {
  return error.code === 13_388 || error.code === 249;
}

function endsCommand(error: CommandError): boolean {
  return endingCodes.has(error.code) || isUnsimulated(error);
}
