import type { History } from '@convoy/api/contract/history';
import { emptyHistory, withEntries, withPoint } from '../../history/history-points.js';
import { type FleetLook, lookAt, pointOf } from '../../history/fleet-look.js';
import { whatHappened } from '../../history/what-happened.js';
import { HistoryRecord, type StoredHistory } from '../../store/history-record.js';
import type { MigrationRun } from '../run/migration-run.js';

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
    const look = lookAt(reports, this.expectedIds(), fleet.leader());
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
