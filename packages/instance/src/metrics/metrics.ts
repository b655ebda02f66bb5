import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Gauges of Node.js whose names end like those of counters: left out, as Prometheus' conventions require. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];
/** From an answer out of memory to the 30 s that a coordinator waits. */
const commandBuckets_seconds = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30];

/**
 * The metrics of one instance under Prometheus' naming rules, in a registry of their own. `MetricsPublisher` alone sets
 * them; counters of events, and the duration of commands, are counted where they happen.
 */
export class Metrics {
  readonly registry = new Registry();

  readonly copiedBytes = this.counter(
    'convoy_copied_bytes_total',
    'Bytes of documents copied and acknowledged by the destination.',
  );
  readonly copiedDocuments = this.counter(
    'convoy_copied_documents_total',
    'Documents copied and acknowledged by the destination.',
  );
  readonly readEvents = this.counter('convoy_read_events_total', 'Change events read from the source.');
  readonly appliedEvents = this.counter('convoy_applied_events_total', 'Change events applied to the destination.');
  readonly rereads = this.counter(
    'convoy_rereads_total',
    'Documents read again from the source, by the reason of the re-read.',
    ['reason'],
  );
  readonly retries = this.counter('convoy_retries_total', 'Retried operations, by the kind of work.', ['what']);
  readonly notifications = this.counter(
    'convoy_notifications_total',
    'Notifications by event and result, of a lone instance.',
    ['event', 'result'],
  );
  readonly refusedMessages = this.counter(
    'convoy_refused_messages_total',
    'Messages in Redis without a valid signature, by reason.',
    ['reason'],
  );
  readonly commandDuration = new Histogram({
    name: 'convoy_command_duration_seconds',
    help: 'Time until a command was accepted or refused.',
    labelNames: ['command', 'result'],
    buckets: commandBuckets_seconds,
    registers: [this.registry],
  });

  readonly overallLag = this.gauge(
    'convoy_overall_lag_seconds',
    'The larger of the lags of documents and of DDL changes; NaN while unknown.',
  );
  readonly lag = this.gauge(
    'convoy_lag_seconds',
    'Cluster time between the source and what is applied to the destination; NaN while unknown.',
  );
  readonly readLag = this.gauge(
    'convoy_read_lag_seconds',
    'Cluster time between the source and the last change that was read; NaN while unknown.',
  );
  readonly ddlLag = this.gauge(
    'convoy_ddl_lag_seconds',
    'Cluster time between the source and its DDL changes that are known and applied; NaN while unknown.',
  );
  readonly oplogRemaining = this.gauge(
    'convoy_oplog_remaining_seconds',
    'Time until an oplog of the source drops changes that are not applied yet; NaN while unknown.',
  );
  readonly pings = this.gauge('convoy_ping_seconds', 'Round trip to a cluster; NaN without an answer.', ['cluster']);
  readonly hotDocuments = this.gauge(
    'convoy_hot_documents',
    'Documents that change more often than their apply worker sends writes, by how their changes are applied.',
    ['applied_by'],
  );
  readonly rereadSet = this.gauge('convoy_pending_rereads', 'Documents that wait for a re-read.');
  readonly partitions = this.gauge('convoy_partitions', 'Partitions of the copy by state.', ['state']);
  readonly bufferedBytes = this.gauge(
    'convoy_buffered_bytes',
    'Bytes of change events and documents that are buffered or on their way to the destination.',
  );
  readonly bufferedEvents = this.gauge(
    'convoy_buffered_events',
    'Change events that wait until the partition of their document is copied.',
  );
  readonly bufferBytesMax = this.gauge('convoy_buffer_limit_bytes', 'Upper bound of all buffers together.');
  readonly state = this.gauge('convoy_state', 'One for the present state of the instance, zero for the others.', [
    'state',
  ]);
  readonly failed = this.gauge('convoy_failed', 'One when the migration has failed.');
  readonly canCommit = this.gauge('convoy_can_commit', 'One when a commit would be accepted.');
  readonly canWrite = this.gauge('convoy_can_write', 'One when users may write to the destination.');
  readonly copySize = this.gauge(
    'convoy_copy_size_bytes',
    'Estimated bytes to copy, over all instances; NaN while unknown.',
  );
  readonly indexes = this.gauge('convoy_indexes', 'Indexes to build on the destination, by state.', ['state']);
  readonly warnings = this.gauge('convoy_warnings', 'Warnings that progress shows, by name.', ['name']);
  readonly isLeader = this.gauge('convoy_leader', 'One while this instance leads its fleet.');
  readonly epoch = this.gauge(
    'convoy_leader_epoch',
    'Epoch of the leader as this instance knows it; grows with every election that acted.',
  );
  readonly verifiedDocuments = this.gauge(
    'convoy_verification_documents',
    'Documents of a cluster as the embedded verifier counts them.',
    ['cluster', 'state'],
  );
  readonly verifiedCollections = this.gauge(
    'convoy_verification_collections',
    'Collections of a cluster as the embedded verifier counts them.',
    ['cluster', 'state'],
  );
  readonly mismatches = this.gauge(
    'convoy_mismatches',
    'Documents that differ with no change on its way; they block a commit.',
  );
  readonly verificationLag = this.gauge(
    'convoy_verification_lag_seconds',
    'How far the embedded verifier is behind a cluster.',
    ['cluster'],
  );

  /**
   * @param options `processMetrics`: also those of the process and of Node.js (memory, event loop); unit tests turn it
   *   off
   */
  constructor(options: { processMetrics: boolean }) {
    for (const gauge of [this.overallLag, this.lag, this.readLag, this.ddlLag, this.oplogRemaining, this.copySize])
      gauge.set(NaN);
    if (!options.processMetrics) return;
    collectDefaultMetrics({ register: this.registry });
    for (const name of misnamed) this.registry.removeSingleMetric(name);
  }

  private counter<Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  private gauge<Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }
}
