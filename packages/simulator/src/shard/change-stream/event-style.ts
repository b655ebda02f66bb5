import type { Timestamp } from 'bson';
import { compareTimestamps } from '../../bson/compare.js';
import type { ResumeToken, ResumeTokenVersion } from '../../bson/resume-token.js';
import type { Doc } from '../../bson/value.js';
import type { ServerVersion } from '../../node/server-version.js';
import type { EntryNamespace } from '../oplog/entry.js';
import type { FullDocument, FullDocumentBeforeChange, StreamStage } from './shard-stream.js';

/** The form of a stream's events, by the server's version and the stream's options. */
export interface EventStyle {
  readonly version: ServerVersion;
  /**
   * Document keys of inserts hold the shard key too: always since 6.0, whose oplog has it. Before only on routers,
   * which use the current one.
   */
  readonly wholeDocumentKeys: boolean;
  /** A looked up document comes last: on routers before 6.0, which looked it up themselves. */
  readonly lookupLast: boolean;
  /** Shows `wallTime` (since 6.0). */
  readonly wallTime: boolean;
  readonly expanded: boolean;
  readonly rawUpdateDescription: boolean;
  /** Shows changes of `system.views` as those of views. */
  readonly views: boolean;
  readonly fullDocument: FullDocument;
  readonly fullDocumentBeforeChange: FullDocumentBeforeChange;
  /** Paths of the current shard key of a collection. Undefined for an unsharded or dropped one. */
  readonly presentShardKey: (target: EntryNamespace) => readonly string[] | undefined;
  /** Finds the current document for `updateLookup`. */
  readonly lookup: (target: EntryNamespace, documentKey: Doc) => Uint8Array | undefined;
  readonly tokenVersion: (clusterTime: Timestamp, txnOpIndex: number) => ResumeTokenVersion;
}

interface StyleSetup extends Pick<EventStyle, 'version' | 'lookup' | 'presentShardKey'> {
  readonly stage: StreamStage;
  readonly merged: boolean;
  readonly collectionScope: boolean;
  readonly splitsEvents: boolean;
  /** The token that the stream resumes at. */
  readonly resumed: ResumeToken | undefined;
}

export function eventStyle({
  version,
  stage,
  merged,
  collectionScope,
  splitsEvents,
  resumed,
  presentShardKey,
  lookup,
}: StyleSetup): EventStyle {
  const usual = tokenVersion(version, splitsEvents);
  return {
    version,
    wholeDocumentKeys: merged || version.atLeast(6),
    lookupLast: merged && !version.atLeast(6),
    wallTime: version.atLeast(6),
    expanded: stage.showExpandedEvents,
    rawUpdateDescription: stage.showRawUpdateDescription,
    views: stage.showExpandedEvents && !collectionScope,
    fullDocument: stage.fullDocument,
    fullDocumentBeforeChange: stage.fullDocumentBeforeChange,
    presentShardKey,
    lookup,
    tokenVersion: (clusterTime, txnOpIndex) =>
      resumed !== undefined && !isBeyond(resumed, clusterTime, txnOpIndex) ? resumed.version : usual,
  };
}

/** The format of new tokens: 2 by default since 7.0, and since 6.0.9 for streams that split events. */
export function tokenVersion(version: ServerVersion, splitsEvents: boolean): ResumeTokenVersion {
  return version.atLeast(7) || (version.atLeast(6) && splitsEvents) ? 2 : 1;
}

/** True for positions after all events with which a token may be compared. Up to there its format applies. */
export function isBeyond(token: ResumeToken, clusterTime: Timestamp, txnOpIndex: number): boolean {
  return compareTimestamps(clusterTime, token.clusterTime) > 0 || txnOpIndex > token.txnOpIndex;
}
