import { Gauge, Registry } from 'prom-client';
import { migrationStates } from '@convoy/api/contract/progress';
import type { GlobalProgress } from '../progress/aggregate.js';

/** One value of a metric; null when it is unknown and left out. */
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
  single('convoy_fleet_instances', 'Instances that were ever heard of.', ({ instances }) => instances.length),
  single('convoy_fleet_failed', '1 when the migration has failed.', ({ failure }) => (failure === null ? 0 : 1)),
  single('convoy_fleet_can_commit', '1 when a commit will succeed.', ({ progress }) => (progress.canCommit ? 1 : 0)),
  single('convoy_fleet_can_write', '1 when the destination may be written to.', ({ progress }) => (progress.canWrite === true ? 1 : 0)),
  single('convoy_fleet_lag_seconds', 'Largest lag of any instance.', ({ progress }) => progress.lagTimeSeconds),
  single('convoy_fleet_events_applied', 'Change events applied by all instances.', ({ progress }) => progress.totalEventsApplied),
  single('convoy_fleet_events_per_second', 'Change events applied per second.', ({ progress }) => progress.eventsPerSecond),
  single('convoy_fleet_copy_total_bytes', 'Estimated bytes to copy.', ({ progress }) => progress.collectionCopy?.estimatedTotalBytes ?? null),
  single('convoy_fleet_copied_bytes', 'Estimated bytes copied.', ({ progress }) => progress.collectionCopy?.estimatedCopiedBytes ?? null),
  single('convoy_fleet_copy_bytes_per_second', 'Bytes copied per second.', ({ progress }) => progress.copyBytesPerSecond),
  single('convoy_fleet_copy_seconds_remaining', 'Estimated seconds to the end of the copy.', ({ progress }) => progress.secondsRemaining),
  {
    name: 'convoy_fleet_state',
    help: '1 for the present state of the fleet.',
    labelNames: ['state'],
    read: ({ progress }) => migrationStates.map((state) => ({ labels: { state }, value: state === progress.state ? 1 : 0 })),
  },
  {
    name: 'convoy_instance_reachable',
    help: '1 while the heartbeat of an instance is in time.',
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

/** The figures of a fleet as one scrape; what is unknown is left out. */
export async function scrapeFleet(global: GlobalProgress): Promise<{ contentType: string; text: string }> {
  // A registry per scrape: the figures live in the reports, and unknown ones must not keep their last value.
  const registry = new Registry();
  for (const { name, help, labelNames = [], read } of metrics) {
    const samples = read(global).filter((sample) => sample.value !== null);
    if (samples.length === 0) continue;
    const gauge = new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
    for (const { labels = {}, value } of samples) gauge.set(labels, value ?? 0);
  }
  return { contentType: registry.contentType, text: await registry.metrics() };
}
