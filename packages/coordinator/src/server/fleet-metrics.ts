import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { CommandName } from '@convoy/api/contract/commands';
import { migrationStates } from '@convoy/api/contract/progress';
import type { GlobalProgress } from '../director/aggregate.js';
import { refusalReasons } from '../redis/signature.js';

/** One value of a metric; null for unknown values, which are left out. */
interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number | null;
}

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly read: (global: GlobalProgress) => readonly Sample[];
}

function single(name: string, help: string, read: (global: GlobalProgress) => number | null): Metric {
  return { name, help, read: (global) => [{ value: read(global) }] };
}

const metrics: readonly Metric[] = [
  single('convoy_fleet_instances', 'Known instances.', ({ instances }) => instances.length),
  single('convoy_fleet_failed', '1 when the migration has failed.', ({ failure }) => (failure === null ? 0 : 1)),
  single('convoy_fleet_can_commit', '1 when a commit will succeed.', ({ progress }) => (progress.canCommit ? 1 : 0)),
  single('convoy_fleet_can_write', '1 when the destination accepts writes.', ({ progress }) =>
    progress.canWrite === true ? 1 : 0,
  ),
  single('convoy_fleet_lag_seconds', 'Largest lag of any instance.', ({ progress }) => progress.lagTimeSeconds),
  single(
    'convoy_fleet_overall_lag_seconds',
    'Largest overall lag of any instance, including DDL changes.',
    ({ progress }) => progress.lag?.overallLagSeconds ?? null,
  ),
  single(
    'convoy_fleet_ddl_lag_seconds',
    'Largest DDL lag of any instance.',
    ({ progress }) => progress.lag?.ddlLagSeconds ?? null,
  ),
  single(
    'convoy_fleet_events_applied',
    'Change events applied by all instances.',
    ({ progress }) => progress.totalEventsApplied,
  ),
  single(
    'convoy_fleet_events_per_second',
    'Change events applied per second.',
    ({ progress }) => progress.eventsPerSecond,
  ),
  single(
    'convoy_fleet_copy_total_bytes',
    'Estimated bytes to copy.',
    ({ progress }) => progress.collectionCopy?.estimatedTotalBytes ?? null,
  ),
  single(
    'convoy_fleet_copied_bytes',
    'Estimated bytes copied.',
    ({ progress }) => progress.collectionCopy?.estimatedCopiedBytes ?? null,
  ),
  single(
    'convoy_fleet_copy_bytes_per_second',
    'Bytes copied per second.',
    ({ progress }) => progress.copyBytesPerSecond,
  ),
  single(
    'convoy_fleet_copy_seconds_remaining',
    'Estimated seconds until the copy ends.',
    ({ progress }) => progress.secondsRemaining,
  ),
  {
    name: 'convoy_fleet_state',
    help: '1 for the current state of the fleet.',
    labelNames: ['state'],
    read: ({ progress }) =>
      migrationStates.map((state) => ({ labels: { state }, value: state === progress.state ? 1 : 0 })),
  },
  {
    name: 'convoy_fleet_indexes',
    help: 'Indexes to build on the destination, by state.',
    labelNames: ['state'],
    read: ({ progress: { indexBuilding } }) =>
      indexBuilding === null
        ? []
        : [
            { labels: { state: 'built' }, value: indexBuilding.indexesBuilt },
            {
              labels: { state: 'waiting' },
              value: Math.max(0, indexBuilding.totalIndexesToBuild - indexBuilding.indexesBuilt),
            },
          ],
  },
  {
    name: 'convoy_fleet_verification_documents',
    help: 'Documents of a cluster in the embedded verifier.',
    labelNames: ['cluster', 'state'],
    read: ({ progress: { verification } }) =>
      (['source', 'destination'] as const).flatMap((cluster) => [
        { labels: { cluster, state: 'hashed' }, value: verification?.[cluster].hashedDocumentCount ?? null },
        { labels: { cluster, state: 'estimated' }, value: verification?.[cluster].estimatedDocumentCount ?? null },
      ]),
  },
  {
    name: 'convoy_fleet_warnings',
    help: 'Warnings in progress, by name.',
    labelNames: ['name'],
    read: ({ progress }) => {
      const names = (progress.warnings ?? []).map(({ name }) => name);
      return [...new Set(names)].map((name) => ({
        labels: { name },
        value: names.filter((one) => one === name).length,
      }));
    },
  },
  {
    name: 'convoy_fleet_leader',
    help: '1 for the leader of the fleet.',
    labelNames: ['id'],
    read: ({ progress, instances }) =>
      instances.map(({ id, syncID }) => ({
        labels: { id },
        value: syncID !== null && syncID === progress.coordinatorID ? 1 : 0,
      })),
  },
  {
    name: 'convoy_instance_reachable',
    help: '1 while the heartbeats of an instance arrive in time.',
    labelNames: ['id'],
    read: ({ instances }) => instances.map(({ id, reachable }) => ({ labels: { id }, value: reachable ? 1 : 0 })),
  },
  {
    name: 'convoy_instance_lag_seconds',
    help: 'Lag of an instance.',
    labelNames: ['id'],
    read: ({ instances }) => instances.map(({ id, lagTimeSeconds }) => ({ labels: { id }, value: lagTimeSeconds })),
  },
];

/** A fleet's metrics in the Prometheus text format, without unknown values. */
export function scrapeFleet(global: GlobalProgress): Promise<string> {
  // A new registry per scrape: the values come from the reports, and unknown ones must not keep their last value.
  const registry = new Registry();
  for (const { name, help, labelNames = [], read } of metrics) {
    const samples = read(global).filter((sample) => sample.value !== null);
    if (samples.length === 0) continue;
    const gauge = new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
    for (const { labels = {}, value } of samples) gauge.set(labels, value ?? 0);
  }
  return registry.metrics();
}

/** Node.js gauges with the suffix of counters; left out, as Prometheus' conventions demand. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];
/** From a reply out of memory to the coordinator's time limit of 30 s. */
const commandBuckets_seconds = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30];

/** A coordinator process's own metrics. */
export class CoordinatorMetrics {
  readonly #registry = new Registry();
  readonly #commandDuration = new Histogram({
    name: 'convoy_fleet_command_duration_seconds',
    help: 'Time until all instances have replied to a command.',
    labelNames: ['command', 'result'],
    buckets: commandBuckets_seconds,
    registers: [this.#registry],
  });

  readonly notifications = new Counter({
    name: 'convoy_notifications_total',
    help: 'Notifications by event and result.',
    labelNames: ['event', 'result'],
    registers: [this.#registry],
  });
  readonly #refusedMessages = new Counter({
    name: 'convoy_refused_messages_total',
    help: 'Messages in Redis without a valid signature, by reason.',
    labelNames: ['reason'],
    registers: [this.#registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
    for (const name of misnamed) this.#registry.removeSingleMetric(name);
  }

  /** Runs a command and records its duration. */
  async timed<Result>(command: CommandName, run: () => Promise<Result>): Promise<Result> {
    const ended = this.#commandDuration.startTimer({ command });
    try {
      const result = await run();
      ended({ result: 'accepted' });
      return result;
    } catch (error) {
      ended({ result: 'refused' });
      throw error;
    }
  }

  /**
   * The process's and the fleet's metrics, in the Prometheus text format.
   * @param refused number of refused messages by reason
   */
  async scrape(global: GlobalProgress, refused: ReadonlyMap<string, number> = new Map()): Promise<string> {
    this.#refusedMessages.reset();
    for (const reason of refusalReasons) this.#refusedMessages.inc({ reason }, refused.get(reason) ?? 0);
    return `${await scrapeFleet(global)}\n${await this.#registry.metrics()}`;
  }
}
