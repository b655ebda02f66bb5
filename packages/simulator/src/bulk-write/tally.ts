import { Double, Int32, Long } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { doc, docOf, numberOf } from '../node/doc-fields.js';
import type { BulkOperation } from './operation.js';

/** The results of the operations of a `bulkWrite`, for its reply. */
export class BulkTally {
  readonly #results: Doc[] = [];
  readonly #counts = new Map(
    ['nErrors', 'nInserted', 'nMatched', 'nModified', 'nUpserted', 'nDeleted'].map((name) => [name, 0]),
  );
  #writeConcernError: Value | undefined;

  /**
   * @param ordered true when nothing ran after a failure
   * @param errorsOnly true to omit the results of successful operations from the reply
   */
  constructor(
    private readonly ordered: boolean,
    private readonly errorsOnly: boolean,
  ) {}

  get failed(): boolean {
    return this.#count('nErrors') > 0;
  }

  /** Adds the reply of an older write command that ran these operations of one kind. */
  add(operations: readonly BulkOperation[], reply: Doc): void {
    this.#writeConcernError = reply.get('writeConcernError') ?? this.#writeConcernError;
    const errors = documents(reply.get('writeErrors'));
    const failures = new Map(errors.map((error) => [numberOf(error.get('index')) ?? 0, error]));
    const reached = this.ordered
      ? Math.min(operations.length, ...[...failures.keys()].map((index) => index + 1))
      : operations.length;
    for (const [at, operation] of operations.slice(0, reached).entries()) {
      const failure = failures.get(at);
      if (failure === undefined) this.#succeed(operation, reply);
      else this.#fail(operation, failure);
    }
  }

  /** Adds the failure of a whole write command as that of its first operation. */
  addFailure(operation: BulkOperation, error: CommandError): void {
    this.#fail(operation, doc(['code', new Int32(error.code)], ['errmsg', error.message], ...error.extra));
  }

  reply(): Doc {
    const reply = doc([
      'cursor',
      doc(['id', Long.ZERO], ['firstBatch', this.#results], ['ns', 'admin.$cmd.bulkWrite']),
    ]);
    for (const [name, count] of this.#counts) reply.set(name, new Int32(count));
    return this.#writeConcernError === undefined ? reply : reply.set('writeConcernError', this.#writeConcernError);
  }

  #succeed({ kind, index }: BulkOperation, reply: Doc): void {
    const result = doc(['ok', new Double(1)], ['idx', new Int32(index)]);
    const n = kind === 'insert' ? 1 : (numberOf(reply.get('n')) ?? 0);
    result.set('n', new Int32(n));
    if (kind === 'insert') this.#raise('nInserted', 1);
    if (kind === 'delete') this.#raise('nDeleted', n);
    if (kind === 'update') this.#succeedUpdate(result, n, reply);
    if (!this.errorsOnly) this.#results.push(result);
  }

  #succeedUpdate(result: Doc, n: number, reply: Doc): void {
    const modified = numberOf(reply.get('nModified')) ?? 0;
    const [upserted] = documents(reply.get('upserted'));
    result.set('nModified', new Int32(modified));
    if (upserted !== undefined) result.set('upserted', doc(['_id', upserted.get('_id') ?? null]));
    this.#raise('nModified', modified);
    this.#raise('nUpserted', upserted === undefined ? 0 : 1);
    this.#raise('nMatched', n - (upserted === undefined ? 0 : 1));
  }

  #fail({ kind, index }: BulkOperation, failure: Doc): void {
    const result = doc(['ok', new Double(0)], ['idx', new Int32(index)]);
    for (const [name, value] of failure) if (name !== 'index' && name !== 'codeName') result.set(name, value);
    result.set('n', new Int32(0));
    if (kind === 'update') result.set('nModified', new Int32(0));
    this.#raise('nErrors', 1);
    this.#results.push(result);
  }

  #count(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  #raise(name: string, by: number): void {
    this.#counts.set(name, this.#count(name) + by);
  }
}

function documents(value: Value | undefined): Doc[] {
  return Array.isArray(value) ? value.flatMap((each) => docOf(each) ?? []) : [];
}
