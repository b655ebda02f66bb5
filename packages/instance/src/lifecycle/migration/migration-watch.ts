import type { Fleet } from '@convoy/api/fleet/fleet';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { timeOf } from '../../cluster/cluster-time.js';
import type { MigrationRecord, MigrationRecords } from '../../store/migration-record.js';
import type { ShareRecord, ShareRecords } from '../../store/share-record.js';
import { Signalled } from '../../store/signalled.js';
import type { Runtime } from './runtime.js';

/** The durable state of the whole migration as it was read last. */
export interface MigrationView {
  record: MigrationRecord;
  shares: ReadonlyMap<string, ShareRecord>;
}

/** What tells a migration from others of the same fleet: the time of the source at which it began. */
export function migrationName({ startTime }: MigrationRecord): string {
  return startTime === null ? '' : timeOf(startTime).toString();
}

/** Whether every share of the migration has a record for which the condition holds. */
export function allShares(view: MigrationView, condition: (share: ShareRecord) => boolean): boolean {
  return view.record.shareIds.every((id) => {
    const share = view.shares.get(id);
    return share !== undefined && condition(share);
  });
}

/** Waits until a condition holds for the state, or for a time. Rejects when the signal is aborted. */
export async function untilOrFor(
  { watch, runtime }: { watch: Pick<MigrationWatch, 'until'>; runtime: Pick<Runtime, 'clock'> },
  condition: (view: MigrationView) => boolean,
  longest_ms: number,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const waiting = new AbortController();
  const end = (): void => waiting.abort();
  signal.addEventListener('abort', end, { once: true });
  await Promise.race([
    watch.until(condition, waiting.signal).catch(() => undefined),
    runtime.clock.sleep(longest_ms, waiting.signal).catch(() => undefined),
  ]);
  signal.removeEventListener('abort', end);
  end();
  signal.throwIfAborted();
}

/** Without news from peers the state is read this often: two small reads. */
const poll_ms = 1000;
/** Nudges may come dozens of times a second; reading more often than this gains nothing. */
const pollMin_ms = 150;
/**
 * The same while a commit goes from hand to hand, for each share of the migration: a fleet of any size then reads as often,
 * and a small one, whose steps take no longer than this, at once.
 */
const commitPollMin_ms = 10;

/**
 * Keeps the durable state of the migration in view. Barriers of the fleet are conditions on it: the metadata database
 * decides, and the fleet's messages only say when to look.
 */
export class MigrationWatch {
  readonly #changed = new Signalled();
  #view: MigrationView;
  #wake: () => void = () => undefined;
  /** The state may have changed since the last reading of it began. */
  #hasNews = false;
  #refreshesBegun = 0;
  #refreshShown = 0;

  constructor(
    private readonly records: MigrationRecords,
    private readonly shares: ShareRecords,
    private readonly fleet: Fleet,
    private readonly runtime: Runtime,
    initial: MigrationView,
  ) {
    this.#view = initial;
  }

  get view(): MigrationView {
    return this.#view;
  }

  /** How far definition changes are known: as the fleet's messages tell, or as it was stored last. */
  get horizon(): { time: bigint; ordinal: number } | null {
    const { record } = this.#view;
    const stored = record.horizon === null ? null : { time: timeOf(record.horizon.time), ordinal: record.horizon.ordinal };
    const heard = this.fleet.horizon();
    if (heard === null || heard.migration !== migrationName(record)) return stored;
    return stored === null || heard.time > stored.time ? heard : stored;
  }

  /** Resolves with the view once the condition holds for it, or for the horizon. */
  async until(condition: (view: MigrationView) => boolean, signal: AbortSignal): Promise<MigrationView> {
    await this.#changed.until(() => condition(this.#view), signal);
    return this.#view;
  }

  /** Reads the state now. Of several reads at once the one that began last counts: the view never goes back. */
  async refresh(signal: AbortSignal): Promise<MigrationView> {
    const turn = (this.#refreshesBegun += 1);
    const [record, shares] = await Promise.all([this.records.read(signal), this.shares.readAll(signal)]);
    if (record === null) throw new ConvoyError('destinationChanged', 'The state of the migration has vanished from the destination.');
    if (turn < this.#refreshShown) return this.#view;
    this.#refreshShown = turn;
    this.#view = { record, shares: new Map(shares.map((share) => [share._id, share])) };
    this.#changed.changed();
    return this.#view;
  }

  /** Looks again and again until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const unwatch = this.fleet.watch((news) => {
      // Who has changed the state says so by a nudge. Reports come all the time and tell nothing of it.
      if (news.has('nudge') || news.has('leader')) this.#tell();
      if (news.has('horizon')) this.#changed.changed();
    });
    try {
      for (;;) {
        await this.runtime.clock.sleep(this.#pause_ms(), signal);
        if (!this.#hasNews) await this.#newsOrTime(signal);
        this.#hasNews = false;
        await this.refresh(signal);
      }
    } finally {
      unwatch();
    }
  }

  #pause_ms(): number {
    const { record, shares } = this.#view;
    const isTold = record.phase === 'syncing' && [...shares.values()].some(({ commitRequested }) => commitRequested);
    const isCommitting = isTold || record.phase === 'committing' || record.phase === 'opening';
    return isCommitting ? Math.min(pollMin_ms, commitPollMin_ms * shares.size) : pollMin_ms;
  }

  /** News that come while the state is being read, or during the pause after it, are kept for the next reading. */
  #tell(): void {
    this.#hasNews = true;
    this.#wake();
  }

  /** Resolves at the next news, or when it is time; rejects when the signal is aborted. */
  async #newsOrTime(signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    const wake = (): void => waiting.abort();
    this.#wake = wake;
    signal.addEventListener('abort', wake, { once: true });
    await this.runtime.clock.sleep(poll_ms - pollMin_ms, waiting.signal).catch(() => undefined);
    signal.removeEventListener('abort', wake);
    signal.throwIfAborted();
  }
}
