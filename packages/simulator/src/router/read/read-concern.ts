import { Timestamp } from 'bson';
import type { Doc } from '../../bson/value.js';
import type { ClusterClock } from '../../node/clock.js';
import type { CommandRequest } from '../../node/command.js';
import { doc, docOf } from '../../node/doc-fields.js';
import { ReadConcernRefused } from '../../node/read-concern-refused.js';

/**
 * The cluster time that a read asks for. A snapshot read without one gets the current time, the same on all shards.
 * @returns undefined for reads of the latest state
 * @throws CommandError 72 for a time without level snapshot
 */
export function snapshotTime(request: CommandRequest, clock: ClusterClock): Timestamp | undefined {
  const concern = docOf(request.body.get('readConcern'));
  const time = concern?.get('atClusterTime');
  if (concern?.get('level') !== 'snapshot') {
    if (time === undefined) return undefined;
    throw new ReadConcernRefused('atClusterTime field can be set only if level is equal to snapshot');
  }
  if (request.body.get('autocommit') === false) return undefined;
  return time instanceof Timestamp ? time : clock.current();
}

/** The command with the time of its snapshot read. */
export function withSnapshotTime(body: Doc, time: Timestamp | undefined): Doc {
  if (time === undefined) return body;
  const concern = docOf(body.get('readConcern')) ?? doc(['level', 'snapshot']);
  return new Map(body).set('readConcern', new Map(concern).set('atClusterTime', time));
}
