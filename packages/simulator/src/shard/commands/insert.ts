import { isTrue } from '../../node/doc-fields.js';
import type { Doc } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { refuseDollarNamesOf44 } from '../write/dollar-fields.js';
import type { Collection } from '../storage/collection.js';
import { batchLength } from '../write/insert-batches.js';
import { collectionForWrite, refuseInvalidDocument } from '../write/collection-access.js';
import { targetNamespace, type CommandContext } from './command-context.js';
import { writeReply } from './write-reply.js';
import { runStatements, statementBytes, type StatementOutcome } from './write-statements.js';

/** Largest document, 16 MB (manual, "MongoDB Limits"). */
const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;

const INSERTED: StatementOutcome = { wrote: true, n: 1, nModified: 0, upsertedId: undefined };

/** `insert`: stores documents, and creates a missing collection. */
export async function insert(context: CommandContext): Promise<Doc> {
  const { state, request, participation } = context;
  const namespace = targetNamespace(context);
  const documents = statementBytes(request, 'documents');
  const bypass = isTrue(request.body.get('bypassDocumentValidation'));
  const keepEmptyTimestamps = isTrue(request.body.get('bypassEmptyTsReplacement'));
  const refusesDollars = !state.version.atLeast(5, 0);
  const prepare = (collection: Collection, document: Uint8Array): Uint8Array => {
    refuseTooLarge(document);
    const prepared = state.writer.prepareInsert(document, keepEmptyTimestamps);
    if (refusesDollars) refuseDollarNamesOf44(prepared);
    if (!bypass) refuseInvalidDocument(state, collection, prepared, undefined);
    return prepared;
  };
  const batches = new Batches(context, documents, prepare);
  const tally = await runStatements(context, documents, (document) => {
    const collection = collectionForWrite(state, namespace);
    if (batches.inserts(collection, document)) return INSERTED;
    state.writer.insert(collection, prepare(collection, document), participation.transaction);
    return INSERTED;
  });
  return writeReply(context, tally, false);
}

/**
 * The documents of one command that 8.0 inserts together, outside of transactions: at one time, with one entry. Where
 * one of them cannot be inserted, it inserts one after the other.
 */
class Batches {
  readonly #inserted = new Map<Uint8Array, Uint8Array>();
  #tried = 0;

  constructor(
    private readonly context: CommandContext,
    private readonly documents: readonly Uint8Array[],
    private readonly prepare: (collection: Collection, document: Uint8Array) => Uint8Array,
  ) {}

  /** Inserts the document with those after it, unless it was inserted with those before it. */
  inserts(collection: Collection, document: Uint8Array): boolean {
    const { writer } = this.context.state;
    if (this.#isPossible(collection) && !this.#inserted.has(document)) this.#insertFrom(collection, document);
    const inserted = this.#inserted.get(document);
    if (inserted !== undefined) writer.noteInserted(collection, inserted);
    return inserted !== undefined;
  }

  #isPossible({ cap }: Collection): boolean {
    const { state, participation } = this.context;
    const repeats = participation.retryable && (participation.session?.statements.size ?? 0) > 0;
    return (
      state.version.atLeast(8, 0) &&
      participation.transaction === null &&
      cap === undefined &&
      (this.#tried > 0 || !repeats)
    );
  }

  #insertFrom(collection: Collection, document: Uint8Array): void {
    const at = this.documents.indexOf(document, this.#tried);
    if (at < this.#tried || at < 0) return;
    const batch = this.documents.slice(at, at + batchLength(this.documents, at));
    this.#tried = at + batch.length;
    if (batch.length === 1) return;
    try {
      const prepared = batch.map((each) => this.prepare(collection, each));
      if (!this.context.state.writer.insertTogether(collection, prepared)) return;
      for (const [index, each] of batch.entries()) this.#inserted.set(each, prepared[index] ?? each);
    } catch (error) {
      // One after the other, the statement that fails gives its reason.
      if (!(error instanceof CommandError)) throw error;
    }
  }
}

function refuseTooLarge(document: Uint8Array): void {
  if (document.length <= DOCUMENT_BYTES_MAX) return;
  throw new CommandError(
    2,
    'BadValue',
    `object to insert too large. size in bytes: ${document.length}, max size: ${DOCUMENT_BYTES_MAX}`,
  );
}
