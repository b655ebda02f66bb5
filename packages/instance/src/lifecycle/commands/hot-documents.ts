import { type HotDocument, hottest } from '@convoy/api/contract/hot-documents';
import { asUnavailable } from '../../cluster/connection-failure.js';
import { retryingFor } from '../../async/retry.js';
import { restoredValue } from '../../bson/sent-value.js';
import type { InstanceConfig } from '../../config/instance-schema.js';
import { engineFailures } from '../../store/fenced-writer.js';
import { Metadata } from '../../store/metadata.js';
import { TaskRecords } from '../../store/task-record.js';
import { idJson } from '../../verify/standalone/described-mismatch.js';
import { type ClusterName, connectConfigured } from '../migration/clusters.js';

/** An operator waits: a longer failure ends the command. */
const retry_ms = 30_000;

/** A hot document with its `_id` as extended JSON; null for a long one. */
export interface IdentifiedHotDocument extends HotDocument {
  _id: unknown;
}

/**
 * The hot documents of all tasks as of their last checkpoints, read from the metadata database.
 * @param destination the cluster that is migrated to
 * @throws ConvoyError `destinationUnavailable`, what else connecting throws
 */
export async function readHotDocuments(
  config: InstanceConfig,
  destination: ClusterName,
  signal: AbortSignal,
): Promise<IdentifiedHotDocument[]> {
  const cluster = await connectConfigured(config, destination, 'router', signal).catch((error: unknown) => {
    throw asUnavailable('destination', destination, error);
  });
  try {
    const metadata = new Metadata(cluster.router, retryingFor(retry_ms, engineFailures));
    const tasks = await new TaskRecords(metadata).readAll(signal);
    return hottest(
      tasks.map(({ hotDocuments = [] }) =>
        hotDocuments.map(({ namespace, document, changesPerSecond, workerPercent, appliedBy, id }) => ({
          namespace,
          document,
          changesPerSecond,
          workerPercent,
          appliedBy,
          _id: id === null ? null : idJson(restoredValue(id)),
        })),
      ),
    );
  } finally {
    await cluster.close();
  }
}
