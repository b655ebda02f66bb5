import { type History, historySchema } from '@convoy/api/contract/history';
import type { Fleet } from '@convoy/api/fleet/fleet';
import {
  type NamespacePart,
  NAMESPACES_PUBLISHED_MAX,
  type PublishedDetails,
} from '@convoy/api/fleet/published-details';
import {
  emptyHistory,
  type FleetLook,
  lookAtFleet,
  pointOf,
  whatHappened,
  withEntries,
  withPoint,
} from '../../history/fleet-history.js';
import { noFindings } from '../../preflight/examination.js';
import type { Metadata } from '../../store/metadata.js';
import type { MigrationRun } from './migration-run.js';

/** Interval of publishing the copy progress of each collection. */
const namespaces_ms = 2_000;
/** Published this often even when nothing is new: Redis may have lost it. */
const republish_ms = 30_000;

/** Publishes, for watchers, the details that are too large for reports. */
export class RunDetails {
  #end = new AbortController();
  /** Settles when nothing is published any more. */
  ended: Promise<unknown> = Promise.resolve();

  /** @param expectedIds ids of the instances that make up the fleet */
  constructor(private readonly expectedIds: () => readonly string[]) {}

  /**
   * Publishes for a run, in the place of the one before, until the signal; also after a failure, which the time line
   * shows.
   */
  follow(run: MigrationRun, signal: AbortSignal): void {
    this.#end.abort();
    this.#end = new AbortController();
    const until = AbortSignal.any([signal, this.#end.signal]);
    const keeper = new HistoryKeeper(run, this.expectedIds);
    this.ended = Promise.allSettled([keeper.run(until), publishNamespaces(run, until)]);
  }
}

/** Publishes that there is nothing to show: Redis may still have the details of a migration that was cleaned up. */
export function publishNoDetails(fleet: Fleet): void {
  fleet.publishDetails('namespaces', namespacesDetails([]));
  fleet.publishDetails('history', emptyHistory());
  fleet.publishDetails('preflight', noFindings);
}

async function publishNamespaces(run: MigrationRun, signal: AbortSignal): Promise<void> {
  const { runtime, fleet } = run.deps;
  let published = '';
  let publishedAt_ms = -Infinity;
  while (!signal.aborted) {
    const parts = run.namespaceParts();
    const now_ms = runtime.clock.monotonic_ms();
    if (parts.length > 0) {
      const details = namespacesDetails(parts);
      const text = JSON.stringify(details);
      if (text !== published || now_ms - publishedAt_ms >= republish_ms) {
        fleet.publishDetails('namespaces', details);
        published = text;
        publishedAt_ms = now_ms;
      }
    }
    await runtime.clock.sleep(namespaces_ms, signal);
  }
}

/** The collections that are being copied first, then the largest; those beyond the bound are added up. */
function namespacesDetails(parts: readonly NamespacePart[]): PublishedDetails['namespaces'] {
  const sorted = [...parts].sort((a, b) => activity(b) - activity(a) || b.totalBytes - a.totalBytes);
  const rest = sorted.slice(NAMESPACES_PUBLISHED_MAX);
  const sum = (stat: (part: NamespacePart) => number) => rest.reduce((total, part) => total + stat(part), 0);
  return {
    rows: sorted.slice(0, NAMESPACES_PUBLISHED_MAX),
    others: {
      collections: rest.length,
      totalBytes: sum(({ totalBytes }) => totalBytes),
      copiedBytes: sum(({ copiedBytes }) => copiedBytes),
      copiedDocuments: sum(({ copiedDocuments }) => copiedDocuments),
    },
  };
}

function activity({ partitions }: NamespacePart): number {
  return partitions.copying + partitions.starting;
}

/** Interval of looking at the fleet. */
const look_ms = 1_000;
/** Minimum interval between stores of what has changed. */
const store_ms = 5_000;
/** Looks after which a new leader has read every report: until then it knows what has changed, but no counters. */
const looksBeforePoint = 3;
/** Interval of publishing, since Redis may have lost it. */
const publishInterval_ms = 2_000;

/**
 * Keeps the history of the migration: every instance looks, the leader stores and publishes it. Nothing waits for it,
 * and its failures fail nothing.
 */
export class HistoryKeeper {
  #look: FleetLook | null = null;
  #cached: StoredHistory | null = null;
  #isStored = true;
  #storedAt_ms = -Infinity;
  #publishedAt_ms = -Infinity;
  #looksAsLeader = 0;

  readonly #record: HistoryRecord;

  /** @param expectedIds ids of the instances that make up the fleet */
  constructor(
    private readonly migration: MigrationRun,
    private readonly expectedIds: () => readonly string[],
  ) {
    this.#record = new HistoryRecord(migration.metadata);
  }

  /** Looks until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.migration.deps.runtime;
    while (!signal.aborted) {
      await this.#step(signal).catch((error: unknown) => {
        this.#cached = null;
        if (!signal.aborted)
          logger.debug(
            { event: 'historyNotStored', err: error },
            'the history could not be stored; the next look retries',
          );
      });
      await clock.sleep(look_ms, signal);
    }
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { fleet, runtime } = this.migration.deps;
    const reports = fleet.reports();
    const before = this.#look;
    const look = lookAtFleet(reports, this.expectedIds(), fleet.leader());
    // A value on which instances disagree stays as it was until all agree.
    this.#look = {
      ...look,
      state: look.state ?? before?.state ?? null,
      info: look.info ?? before?.info ?? null,
      canCommit: look.canCommit ?? before?.canCommit ?? null,
    };
    if (!fleet.isLeader()) {
      this.#cached = null;
      this.#looksAsLeader = 0;
      return;
    }
    this.#looksAsLeader += 1;
    this.#cached ??= await this.#read(signal);
    if (this.#cached === null) return;
    const at_ms = runtime.clock.now_ms();
    const entries = whatHappened(before ?? unseen, this.#look, at_ms).filter(
      (entry) => before !== null || this.#isNews(entry.text),
    );
    let history = withEntries(this.#cached.history, entries);
    const point = pointOf(reports, this.expectedIds(), at_ms);
    const isKnown = this.#looksAsLeader > looksBeforePoint;
    if (isKnown && (!isOver(this.#look) || differs(history, point))) history = withPoint(history, point);
    if (history !== this.#cached.history) this.#isStored = false;
    this.#cached = { ...this.#cached, history };
    await this.#store(at_ms, isOver(this.#look), signal);
    this.#publish(at_ms, { ...history, points: isKnown ? withLatest(history, point) : history.points });
  }

  /** After a restart, compares the first look with the latest entries of the time line. */
  #isNews(text: string): boolean {
    return !(this.#cached?.history.timeline ?? []).slice(-20).some((entry) => entry.text === text);
  }

  async #read(signal: AbortSignal): Promise<StoredHistory | null> {
    const stored = await this.#record.read(signal);
    if (stored !== null) return stored;
    const { phase, failure } = this.migration.view.record;
    if (failure !== null || phase === 'committed' || phase === 'opening') return null;
    await this.#record.begin(emptyHistory(), signal);
    return this.#record.read(signal);
  }

  async #store(at_ms: number, isOverNow: boolean, signal: AbortSignal): Promise<void> {
    if (this.#cached === null || this.#isStored || (!isOverNow && at_ms - this.#storedAt_ms < store_ms)) return;
    this.#storedAt_ms = at_ms;
    const { history, revision } = this.#cached;
    const written = await this.#record.replace(history, revision, signal);
    this.#isStored = written;
    this.#cached = written ? { history, revision: revision + 1 } : null;
  }

  #publish(at_ms: number, history: History): void {
    if (at_ms - this.#publishedAt_ms < publishInterval_ms) return;
    this.#publishedAt_ms = at_ms;
    this.migration.deps.fleet.publishDetails('history', history);
  }
}

const unseen: FleetLook = {
  instances: new Map(),
  state: null,
  info: null,
  canCommit: null,
  leaderId: null,
  failure: null,
  warnings: new Map(),
};

/** Once the migration is over, only changes are news. */
function isOver({ state, failure }: FleetLook): boolean {
  return state === 'COMMITTED' || failure !== null;
}

function differs({ points }: History, point: History['points'][number]): boolean {
  const last = points.at(-1);
  return (
    last === undefined ||
    last.copiedBytes !== point.copiedBytes ||
    last.eventsApplied !== point.eventsApplied ||
    last.lagSeconds !== point.lagSeconds
  );
}

/** The published history ends at the present, not up to an interval before. */
function withLatest({ points }: History, point: History['points'][number]): History['points'] {
  return points.at(-1)?.at_ms === point.at_ms ? points : [...points.slice(-(pointsShownMax - 1)), point];
}

/** As many as are stored. */
const pointsShownMax = 720;

const recordId = 'history';

/** A history as last read or written. */
interface StoredHistory {
  history: History;
  /** Counts the writes, so that a former leader does not overwrite the history of the present one. */
  revision: number;
}

/**
 * The one document of the collection `history`, which the leader writes and the dashboard shows. The folder `history`
 * bounds its points and entries. No decision depends on it.
 */
class HistoryRecord {
  constructor(private readonly metadata: Metadata) {}

  /** Null when there is none that this release can read. */
  async read(signal: AbortSignal): Promise<StoredHistory | null> {
    const stored = await this.metadata.findOne('history', { _id: recordId }, signal);
    const history = historySchema.safeParse(stored?.history).data;
    return stored === null || history === undefined ? null : { history, revision: Number(stored.revision) };
  }

  /**
   * Creates the history unless there is one. Call it only while the migration runs: an instance that still runs after
   * `convoy cleanup` must not bring the removed collection back.
   */
  async begin(history: History, signal: AbortSignal): Promise<void> {
    await this.metadata.updateOne('history', { _id: recordId }, { $setOnInsert: { history, revision: 1 } }, signal, {
      upsert: true,
    });
  }

  /**
   * Replaces the history.
   * @param revision that of the last read or write
   * @returns false when another process has written since, or when the history is gone
   */
  replace(history: History, revision: number, signal: AbortSignal): Promise<boolean> {
    return this.metadata.updateOne(
      'history',
      { _id: recordId, revision },
      { $set: { history, revision: revision + 1 } },
      signal,
    );
  }
}
