import type { Progress } from '@convoy/api/contract/progress';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import type { InstanceStats } from '@convoy/api/fleet/instance-stats';
import type { Clock } from '../../async/clock.js';
import type { MigrationRun } from './migration-run.js';
import { totalsOf } from '../task/task-stats.js';

/** Rates are averages over about this time. */
const window_ms = 5000;

interface Sample {
  at_ms: number;
  copiedBytes: number;
  events: number;
}

/** Bytes and events per second over the last seconds, from totals that only grow. */
export class Rates {
  readonly #samples: Sample[] = [];

  constructor(private readonly clock: Clock) {}

  /**
   * Takes the present totals and returns the rates.
   * @param copiedBytes null while the totals are unknown: later ones are not compared with earlier ones then
   */
  take(copiedBytes: number | null, events: number): InstanceReport['rates'] {
    if (copiedBytes === null) {
      this.#samples.length = 0;
      return { copyBytesPerSecond: 0, eventsPerSecond: 0 };
    }
    const at_ms = this.clock.monotonic_ms();
    this.#samples.push({ at_ms, copiedBytes, events });
    while (this.#samples.length > 2 && (this.#samples[1]?.at_ms ?? at_ms) <= at_ms - window_ms) this.#samples.shift();
    const first = this.#samples[0];
    const seconds = first === undefined ? 0 : (at_ms - first.at_ms) / 1000;
    if (first === undefined || seconds <= 0) return { copyBytesPerSecond: 0, eventsPerSecond: 0 };
    return {
      copyBytesPerSecond: Math.max(0, (copiedBytes - first.copiedBytes) / seconds),
      eventsPerSecond: Math.max(0, (events - first.events) / seconds),
    };
  }
}

/** What is absent from a report where there is nothing to say. */
type Optional = 'oplogRemaining_seconds' | 'mismatches' | 'refused' | 'stats';

/** What a report is made of. */
export type ReportSource = Omit<InstanceReport, 'rates' | Optional> & {
  [Name in Optional]?: InstanceReport[Name] | undefined;
};

/** The report of an instance as its peers see it: of what blocks a commit, each reports its own. */
export function reportOf(source: ReportSource, rates: Rates): InstanceReport {
  const { oplogRemaining_seconds, mismatches = [], refused, stats, ...reported } = source;
  const { identity, progress } = reported;
  return {
    ...reported,
    rates: rates.take(progress.collectionCopy?.estimatedCopiedBytes ?? null, progress.totalEventsApplied ?? 0),
    progress: { ...progress, commitBlockers: ownBlockers(progress, identity.id) },
    ...(oplogRemaining_seconds === undefined ? {} : { oplogRemaining_seconds }),
    ...(mismatches.length === 0 ? {} : { mismatches }),
    ...(refused === undefined ? {} : { refused }),
    ...(stats === undefined ? {} : { stats }),
  };
}

function ownBlockers({ commitBlockers }: Progress, id: string): Progress['commitBlockers'] {
  return commitBlockers?.filter(({ instance }) => instance === id) ?? null;
}

/** Bound of the shards that are named. */
const shardsNamedMax = 1_000;

/**
 * The stats of a process's part in a migration, for watchers.
 * @param namesShards whether they name the shards of the destination
 */
export function instanceStatsOf(
  { stats, deps, view }: MigrationRun,
  bufferBytesMax: number,
  namesShards: boolean,
): InstanceStats {
  const sum = (stat: (one: (typeof stats)[number]) => number): number =>
    stats.reduce((total, one) => total + stat(one), 0);
  return {
    sourceShards: deps.ownIds.slice(0, shardsNamedMax),
    destinationShards: namesShards ? deps.destination.shardIds.slice(0, shardsNamedMax) : [],
    copiedDocuments: totalsOf(stats, view, deps.ownIds).reduce((total, task) => total + task.copiedDocuments, 0),
    partitions: {
      waiting: sum(({ partitions }) => partitions.waiting),
      starting: sum(({ partitions }) => partitions.starting),
      copying: sum(({ partitions }) => partitions.copying),
      done: sum(({ partitions }) => partitions.done),
    },
    bufferedEvents: sum((one) => one.bufferedEvents),
    pendingRereads: sum((one) => one.pendingRereads),
    bufferedBytes: sum((one) => one.bufferedBytes),
    bufferBytesMax,
  };
}

/** An instance reports to its peers this often. */
const report_ms = 250;
/** All instances of a fleet together report at most 250 times a second: a coordinator reads every report. */
const reportPerInstance_ms = 4;
/** Up to this size every instance names all others and all shards in its report. */
const allNameMax = 16;
/** In larger fleets only the leader and this many others do. A list in each report grows with the fleet's square. */
const naming = 3;

/** Interval of an instance's reports, by the number of instances in its fleet. */
export function reportInterval_ms(instances: number): number {
  return Math.max(report_ms, reportPerInstance_ms * instances);
}

/**
 * Whether the report of an instance names all instances and shards.
 * @param ids of the fleet, in the same order everywhere
 */
export function namesFleet(id: string, ids: readonly string[], leads: boolean): boolean {
  return leads || ids.length <= allNameMax || ids.indexOf(id) < naming;
}
