import type { Progress } from '@convoy/api/contract/progress';
import type { InstanceReport } from '@convoy/api/fleet/fleet';
import type { Clock } from '../../async/clock.js';

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
