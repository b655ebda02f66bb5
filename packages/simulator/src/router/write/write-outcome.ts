import { Int32 } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import type { CommandError } from '../../node/command.js';
import { doc, docOf, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import { errorName } from '../../node/error-name.js';
import type { WriteKind } from './write-statements.js';

/** Sums up the shards' replies to the parts of one bulk write. */
export class WriteOutcome {
  #n = 0;
  #modified = 0;
  readonly #upserted = new Map<number, Value>();
  readonly #errors = new Map<number, Doc>();
  #writeConcernError: Doc | undefined;

  readonly #retried = new Set<number>();

  /** @param isNamed whether failed write concerns show the name of their code, as since 8.0 */
  constructor(
    private readonly kind: WriteKind,
    private readonly isNamed = false,
  ) {}

  get failed(): boolean {
    return this.#errors.size > 0;
  }

  /** Adds the reply of one shard. @param indexes place in the client's batch of each statement sent there */
  add(shard: string, reply: Doc, indexes: readonly number[]): void {
    this.#n += numberOf(reply.get('n')) ?? 0;
    this.#modified += numberOf(reply.get('nModified')) ?? 0;
    for (const each of documentsIn(reply.get('upserted')))
      this.#upserted.set(indexOf(each, indexes), each.get('_id') ?? null);
    for (const each of documentsIn(reply.get('writeErrors'))) {
      const index = indexOf(each, indexes);
      const known = this.#errors.get(index);
      const error = errorFields(index, each);
      this.#errors.set(index, known === undefined ? error : joined(index, known, error));
    }
    const retried = reply.get('retriedStmtIds');
    for (const id of Array.isArray(retried) ? retried : []) this.#retried.add(numberOf(id) ?? 0);
    const concern = docOf(reply.get('writeConcernError'));
    if (concern !== undefined) this.#writeConcernError ??= shardConcernError(shard, concern, this.isNamed);
  }

  /** Adds a failure of the whole command for a shard: each of its statements has failed with it. */
  fail(error: CommandError, indexes: readonly number[]): void {
    for (const index of indexes) {
      const fields = doc(
        ['index', new Int32(index)],
        ['code', new Int32(error.code)],
        ['codeName', error.codeName],
        ['errmsg', error.message],
        ...error.extra,
      );
      const known = this.#errors.get(index);
      this.#errors.set(index, known === undefined ? fields : joined(index, known, fields));
    }
  }

  reply(): Doc {
    const reply: Doc = new Map();
    if (this.kind === 'update') reply.set('nModified', new Int32(this.#modified));
    reply.set('n', new Int32(this.#n));
    const upserted = [...this.#upserted]
      .sort(([a], [b]) => a - b)
      .map(([index, id]) => doc(['index', new Int32(index)], ['_id', id]));
    if (upserted.length > 0) reply.set('upserted', upserted);
    const retried = [...this.#retried].sort((a, b) => a - b).map((id) => new Int32(id));
    const errors = [...this.#errors].sort(([a], [b]) => a - b).map(([, error]) => error);
    if (errors.length > 0) reply.set('writeErrors', errors);
    if (retried.length > 0) reply.set('retriedStmtIds', retried);
    if (this.#writeConcernError !== undefined) reply.set('writeConcernError', this.#writeConcernError);
    return reply;
  }
}

function documentsIn(value: Value | undefined): Doc[] {
  return Array.isArray(value) ? value.flatMap((each) => (each instanceof Map ? [each] : [])) : [];
}

function indexOf(each: Doc, indexes: readonly number[]): number {
  return indexes[numberOf(each.get('index')) ?? 0] ?? 0;
}

function errorFields(index: number, error: Doc): Doc {
  const code = numberOf(error.get('code')) ?? 8;
  const fields = doc(
    ['index', new Int32(index)],
    ['code', new Int32(code)],
    ['codeName', error.get('codeName') ?? errorName(code)],
    ['errmsg', error.get('errmsg') ?? ''],
  );
  for (const [name, value] of error) if (!fields.has(name)) fields.set(name, value);
  return fields;
}

const multipleErrors = 65;

/** The errors of several shards for one statement: one error where they agree (server source: `combineOpErrors`). */
function joined(index: number, first: Doc, second: Doc): Doc {
  if (numberOf(first.get('code')) === numberOf(second.get('code'))) return first;
  return doc(
    ['index', new Int32(index)],
    ['code', new Int32(multipleErrors)],
    ['codeName', errorName(multipleErrors)],
    [
      'errmsg',
      `multiple errors for op : ${textOrEmpty(first.get('errmsg'))} :: and :: ${textOrEmpty(second.get('errmsg'))}`,
    ],
    ['errInfo', doc(['causedBy', [first, second]])],
  );
}

function shardConcernError(shard: string, error: Doc, isNamed: boolean): Doc {
  const fields = new Map(error);
  if (fields.has('errInfo')) fields.set('errInfo', new Map());
  const name = isNamed ? `${textOrEmpty(error.get('codeName'))}: ` : '';
  fields.set('errmsg', `${name}${textOrEmpty(error.get('errmsg'))} at ${shard}`);
  return fields;
}
