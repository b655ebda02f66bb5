import type { Doc } from '../bson/value.js';
import type { CommandError, CommandRequest } from './command.js';
import { docOf, numberOf } from './doc-fields.js';

/** Codes that the server calls retriable (server source: error_codes.yml, category RetriableError). */
const retriable: ReadonlySet<number> = new Set([
  6, 7, 89, 91, 134, 189, 202, 262, 9001, 10107, 11600, 11602, 13435, 13436,
]);
/** Codes after which a client may retry the whole transaction: conflicts, lost snapshots, stale routing. */
const transient: ReadonlySet<number> = new Set([24, 112, 150, 239, 246, 249, 250, 267, 272, 13388]);
/** Codes after which a client may resume a change stream, besides the retriable ones. */
const resumable: ReadonlySet<number> = new Set([133, 150, 234, 249, 13388]);
const noSuchTransaction = 251;
const ends: ReadonlySet<string> = new Set(['commitTransaction', 'abortTransaction']);

/** The kind of node that adds the labels. A router leaves `RetryableWriteError` to the shards' own clients. */
export type LabellingNode = 'router' | 'member';

/**
 * The labels that a node of release 4.4 or later adds to a failed command (server source: error_labels).
 * @param error as the command failed; its labels stay
 */
export function errorLabels(node: LabellingNode, request: CommandRequest, error: CommandError): readonly string[] {
  const labels = new Set(error.labels);
  const { body, name } = request;
  const numbered = body.has('txnNumber');
  const inTransaction = numbered && body.has('autocommit');
  if (inTransaction && isTransient(error, ends.has(name))) labels.add('TransientTransactionError');
  else if (isRetryableWrite(node, body, name, error.code)) labels.add('RetryableWriteError');
  else if (isChangeStream(request) && (retriable.has(error.code) || resumable.has(error.code)))
    labels.add('ResumableChangeStreamError');
  return [...labels];
}

/** The label of a write whose concern failed with a retriable code, if any. */
export function concernErrorLabels(node: LabellingNode, request: CommandRequest, reply: Doc): readonly string[] {
  const code = concernErrorCode(reply);
  return code !== undefined && isRetryableWrite(node, request.body, request.name, code) ? ['RetryableWriteError'] : [];
}

/** The code of a write concern that was not met. */
export function concernErrorCode(reply: Doc): number | undefined {
  return numberOf(docOf(reply.get('writeConcernError'))?.get('code'));
}

function isTransient(error: CommandError, ending: boolean): boolean {
  if (transient.has(error.code) || error.code === noSuchTransaction) return true;
  return !ending && retriable.has(error.code);
}

function isRetryableWrite(node: LabellingNode, body: Doc, name: string, code: number): boolean {
  if (node === 'router' || !retriable.has(code) || !body.has('txnNumber')) return false;
  return !body.has('autocommit') || ends.has(name);
}

function isChangeStream({ name, body }: CommandRequest): boolean {
  const pipeline = body.get('pipeline');
  return (
    name === 'aggregate' && Array.isArray(pipeline) && pipeline[0] instanceof Map && pipeline[0].has('$changeStream')
  );
}
