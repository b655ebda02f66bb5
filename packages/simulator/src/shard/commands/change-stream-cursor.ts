import { Timestamp } from 'bson';
import type { Doc } from '../../bson/value.js';
import { numberOf } from '../../node/doc-fields.js';
import { openChangeStream } from '../change-stream/open-stream.js';
import { StreamSource } from '../change-stream/stream-source.js';
import { readStreamStage, streamScope } from '../change-stream/stream-stage.js';
import { FIRST_BATCH_DOCUMENTS, firstBatchReply } from '../cursor/cursor-reply.js';
import { splitNamespace } from '../../node/namespace.js';
import { optionalDoc, optionalNumber, sessionText, type CommandContext } from './command-context.js';

/**
 * Opens a change stream as a cursor.
 * @param namespace of a collection's stream; undefined for a database's or the cluster's
 */
export function openStreamCursor(
  context: CommandContext,
  stages: readonly Doc[],
  namespace: string | undefined,
): Promise<Doc> {
  const { state, request } = context;
  const stage = readStreamStage(stages[0]?.get('$changeStream') ?? null, state.features, false);
  const collection = namespace === undefined ? undefined : splitNamespace(namespace).collection;
  const stream = openChangeStream(state, {
    scope: streamScope(stage, request.db, collection),
    start: stage.start ?? { kind: 'time', clusterTime: timeAfter(state.oplog.lastTime) },
    stage,
    merged: false,
    pipeline: stages.slice(1),
  });
  const shownNamespace = namespace ?? `${request.db}.$cmd.aggregate`;
  const owner = { namespace: shownNamespace, collectionUuid: undefined, session: sessionText(context) };
  return firstBatchReply(state.cursors, new StreamSource(stream, state.version), owner, {
    batchSize: numberOf(optionalDoc(context, 'cursor')?.get('batchSize')) ?? FIRST_BATCH_DOCUMENTS,
    singleBatch: false,
    maxTimeMs: optionalNumber(context, 'maxTimeMS'),
    signal: request.signal,
  });
}

/** A stream from now on starts after the last entry. */
function timeAfter(time: Timestamp): Timestamp {
  return new Timestamp({ t: time.t, i: time.i + 1 });
}
