import type { StreamStage } from '../../../../src/shard/change-stream/shard-stream.js';

/** What an empty `$changeStream` stage asks for, with the differences given. */
export function streamStage(differences: Partial<StreamStage> = {}): StreamStage {
  return {
    allChangesForCluster: false,
    allowToRunOnConfigDB: false,
    allowToRunOnSystemNS: false,
    fullDocument: 'default',
    fullDocumentBeforeChange: 'off',
    showExpandedEvents: false,
    showRawUpdateDescription: false,
    showSystemEvents: false,
    start: undefined,
    ...differences,
  };
}
