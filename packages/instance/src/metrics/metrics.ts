import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

/** The figures of one instance under Prometheus' naming rules, in a registry of their own. */
export class Metrics {
  readonly registry = new Registry();

  readonly copiedBytes = this.counter('convoy_copied_bytes_total', 'Bytes of documents copied and acknowledged by the destination.');
  readonly copiedDocuments = this.counter('convoy_copied_documents_total', 'Documents copied and acknowledged by the destination.');
  readonly readEvents = this.counter('convoy_read_events_total', 'Change events read from the source.');
  readonly appliedEvents = this.counter('convoy_applied_events_total', 'Change events applied to the destination.');
  readonly repairs = this.counter('convoy_repairs_total', 'Keys read anew from the source, by the reason of the doubt.', ['reason']);
  readonly retries = this.counter('convoy_retries_total', 'Operations tried again, by the kind of work.', ['what']);

  readonly lag = this.gauge('convoy_lag_seconds', 'Cluster time between the source and what is applied to the destination.');
  readonly repairSet = this.gauge('convoy_repair_set_keys', 'Keys that wait for being read anew.');
  readonly partitions = this.gauge('convoy_partitions', 'Partitions of the copy by state.', ['state']);
  readonly bufferedBytes = this.gauge('convoy_buffered_bytes', 'Bytes of change events and documents that are held or on their way to the destination.');
  readonly bufferBytesMax = this.gauge('convoy_buffer_limit_bytes', 'Upper bound of all buffers together.');
  readonly state = this.gauge('convoy_state', 'One for the present state of the instance, zero for the others.', ['state']);

  /** @param options `processMetrics`: also those of the process and of Node.js (memory, event loop); not in unit tests */
  constructor(options: { processMetrics: boolean }) {
    if (options.processMetrics) collectDefaultMetrics({ register: this.registry });
  }

  private counter<Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  private gauge<Label extends string = never>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.registry] });
  }
}
