import type { Doc } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { storeBucket } from '../timeseries/bucket-catalog.js';
import { readMeasurement } from '../timeseries/measurement.js';
import type { OpenBucket } from '../timeseries/open-bucket.js';
import type { SeriesCollection } from '../timeseries/series-collection.js';
import type { CommandContext } from './command-context.js';
import { writeReply } from './write-reply.js';
import { runStatements, type StatementOutcome } from './write-statements.js';

const INSERTED: StatementOutcome = { wrote: true, n: 1, nModified: 0, upsertedId: undefined };

/** `insert` into a time-series collection: measurements of one command that share a bucket are stored by one write. */
export async function insertMeasurements(
  context: CommandContext,
  series: SeriesCollection,
  documents: readonly Uint8Array[],
): Promise<Doc> {
  const { state, participation } = context;
  if (participation.transaction !== null) {
    const where = series.view.namespace;
    throw new CommandError(
      263,
      'OperationNotSupportedInTransaction',
      `Cannot insert into a time-series collection in a multi-document transaction: ${where}`,
    );
  }
  const changed = new Set<OpenBucket>();
  const tally = await runStatements(context, documents, (document) => {
    const measurement = readMeasurement(state.writer.prepareInsert(document), series.options);
    changed.add(state.openBuckets.assign(series.buckets, series.options, measurement));
    return INSERTED;
  });
  for (const bucket of changed) storeBucket(state.writer, series.buckets, bucket);
  return writeReply(context, tally, false);
}
