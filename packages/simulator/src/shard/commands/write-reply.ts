import { Int32, Long, ObjectId, Timestamp } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { writeConcernError } from '../write/write-concern.js';
import type { CommandContext } from './command-context.js';

/** The election id of a member that never steps down. */
const ELECTION_ID = new ObjectId('7fffffff0000000000000001');

/** The results of the statements of one write command. */
export class WriteTally {
  n = 0;
  nModified = 0;
  readonly upserted: Doc[] = [];
  readonly errors: Doc[] = [];
  /** Numbers of statements that had run before. */
  readonly retried: number[] = [];

  addUpserted(index: number, id: Value): void {
    this.upserted.push(
      new Map<string, Value>([
        ['index', new Int32(index)],
        ['_id', id],
      ]),
    );
  }

  addError(index: number, error: CommandError): void {
    this.errors.push(
      new Map<string, Value>([
        ['index', new Int32(index)],
        ['code', new Int32(error.code)],
        ['codeName', error.codeName],
        ['errmsg', error.message],
        ...error.extra,
      ]),
    );
  }
}

/** The reply of `insert`, `update` and `delete`, fields in the server's order. */
export function writeReply(context: CommandContext, tally: WriteTally, isUpdate: boolean): Doc {
  const reply: Doc = new Map<string, Value>([['n', new Int32(tally.n)]]);
  addOpTime(reply, context);
  if (tally.errors.length > 0) reply.set('writeErrors', tally.errors);
  // The record of an upsert also answers other statements under its number, except for this field.
  if (isUpdate && tally.upserted.length > 0) reply.set('upserted', tally.upserted);
  if (isUpdate) reply.set('nModified', new Int32(tally.nModified));
  // 8.0.10 shows it, 5.0.7 does not; of the releases between them it is not known.
  if (tally.retried.length > 0 && context.state.version.atLeast(8, 0))
    reply.set(
      'retriedStmtIds',
      tally.retried.map((id) => new Int32(id)),
    );
  addWriteConcernError(reply, context);
  return reply;
}

/** Adds `electionId` and `opTime` of the last write. */
function addOpTime(reply: Doc, { state, participation, request }: CommandContext): void {
  const isInTransaction = participation.transaction !== null;
  // 8.0.10 shows them to clients of a shard.
  if (isInTransaction && (request.routed !== undefined || !state.version.atLeast(8, 0))) return;
  reply.set('electionId', ELECTION_ID);
  if (isInTransaction) {
    reply.set('opTime', new Timestamp({ t: 0, i: 0 }));
    return;
  }
  reply.set(
    'opTime',
    new Map<string, Value>([
      ['ts', state.oplog.lastTime],
      ['t', Long.fromNumber(1)],
    ]),
  );
}

/** Adds `writeConcernError` when the single member cannot satisfy the write concern. */
export function addWriteConcernError(reply: Doc, { request }: CommandContext): void {
  const error = writeConcernError(request.body);
  if (error !== undefined) reply.set('writeConcernError', error);
}
