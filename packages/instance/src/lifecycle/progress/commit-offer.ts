import type { Warning } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Fleet } from '@convoy/api/fleet/fleet';
import { nameSome } from '../../catalog/name-some.js';
import type { Clock } from '../../cluster/clock.js';
import type { LastingDifferences } from '../../store/share-record.js';
import { repairsMax } from '../../verify/embedded/standing.js';
import { CommitReadiness } from '../figures/commit-readiness.js';
import type { MigrationRun } from '../run/migration-run.js';

/** The part of a run that an offer depends on. */
type OfferedRun = Pick<MigrationRun, 'failure' | 'state' | 'verification' | 'liveFigures' | 'view' | 'isCommitRequested'> & { readonly input: Pick<MigrationRun['input'], 'ownIds'> };

/** What progress has offered is kept for so long: peers hear of each other about a second late, and a request is on its way for a while. */
const offeredFor_ms = 10_000;
/** How long a command to commit waits for an offer that was taken back just before. */
const patience_ms = 12_000;
const poll_ms = 100;
/** After the copy a commit is offered within seconds: what keeps it from being offered for longer is worth a warning. */
const unoffered_ms = 15_000;

/** Whether a commit would be taken, as this instance sees its fleet, and what is missing otherwise. */
export class CommitOffer {
  readonly #readiness = new CommitReadiness();
  #offeredAt_ms = Number.NEGATIVE_INFINITY;
  /** Since when a commit could be offered but for what is missing; null while it is, or the copy is not done. */
  #unofferedSince_ms: number | null = null;

  constructor(
    private readonly fleet: Pick<Fleet, 'reports'>,
    private readonly clock: Clock,
  ) {}

  /** Whether the own shares are ready. */
  isOwnReady(run: OfferedRun | null): boolean {
    return this.#missingHere(run).length === 0;
  }

  /** Whether every instance of the fleet is ready; silent ones are not. */
  stands(run: OfferedRun | null): boolean {
    if (this.#missing(run).length > 0) return false;
    this.#offeredAt_ms = this.clock.monotonic_ms();
    return true;
  }

  /** Why no commit has been offered for a while, although all is copied; to be called several times a second. */
  warnings(run: OfferedRun): readonly Warning[] {
    const isDue = run.state === 'RUNNING' && run.liveFigures.length > 0 && run.liveFigures.every(({ copyDone }) => copyDone);
    const missing = isDue ? this.#missing(run) : [];
    if (missing.length === 0) {
      this.#unofferedSince_ms = null;
      return [];
    }
    const now_ms = this.clock.monotonic_ms();
    this.#unofferedSince_ms ??= now_ms;
    if (now_ms - this.#unofferedSince_ms < unoffered_ms) return [];
    const what = run.input.ownIds.join(', ');
    return [{ name: 'commitNotOffered', description: `No commit is offered at present, as ${what} sees it: ${missing.join('; ')}.` }];
  }

  /**
   * Resolves when a commit may be taken: it is offered, or another instance has taken it. What was offered a moment ago is
   * waited for, since what progress has said must hold: the word of a peer that was paused or away may come late.
   * @throws ConvoyError `cannotCommit`, which names what is missing
   */
  async untilItStands(run: OfferedRun, signal: AbortSignal): Promise<void> {
    const until_ms = this.#offeredAt_ms + offeredFor_ms < this.clock.monotonic_ms() ? 0 : this.clock.monotonic_ms() + patience_ms;
    while (!this.stands(run) && !(await run.isCommitRequested(signal))) {
      if (this.clock.monotonic_ms() >= until_ms) throw new ConvoyError('cannotCommit', `The migration cannot be committed yet: ${this.#missing(run).join('; ')}. Wait until canCommit is true.`);
      await this.clock.sleep(poll_ms, signal);
    }
  }

  #missing(run: OfferedRun | null): readonly string[] {
    const here = this.#missingHere(run);
    return here.length > 0 || run === null ? here : this.#missingElsewhere(run);
  }

  #missingHere(run: OfferedRun | null): readonly string[] {
    if (run?.failure !== null || (run.state !== 'RUNNING' && run.state !== 'COMMITTING')) {
      this.#readiness.withdraw();
      this.#offeredAt_ms = Number.NEGATIVE_INFINITY;
      return ['it does not run'];
    }
    const unready = run.verification?.find((figures) => figures?.isReady !== true);
    if (unready !== undefined) {
      this.#readiness.withdraw();
      const lasting = run.verification?.flatMap((figures) => figures?.lasting ?? []) ?? [];
      if (lasting.length > 0) return [lastingText(lasting)];
      const hasCompared = unready?.source.phase === 'stream hashing';
      return [hasCompared ? 'the verifier is behind' : 'the verifier has not compared everything'];
    }
    return this.#readiness.judge(run.liveFigures, run.input.ownIds.length);
  }

  /** A peer's word that it is ready counts only where its record says that its copy is done. */
  #missingElsewhere({ view, input }: OfferedRun): readonly string[] {
    const reports = this.fleet.reports();
    return view.record.shareIds.flatMap((id) => {
      if (input.ownIds.includes(id)) return [];
      const share = view.shares.get(id);
      if (share?.copyDone !== true || share.paused) return [`${id} has not recorded the end of its copy`];
      const seen = reports.get(id);
      if (seen?.fresh !== true) return [`${id} does not answer`];
      return seen.report.ready.canCommit ? [] : [`${id} is not ready`];
    });
  }
}

/** What differs for good, and what has become of it. */
function lastingText(all: readonly LastingDifferences[]): string {
  const sum = (count: (one: LastingDifferences) => number): number => all.reduce((total, one) => total + count(one), 0);
  const namespaces = [...new Set(all.flatMap((one) => one.namespaces))].sort();
  const givenUp = sum((one) => one.givenUp);
  const outcome = givenUp === 0 ? 'and are read anew' : `${givenUp} of them although they were read anew ${repairsMax} times`;
  return `${sum(({ documents }) => documents)} documents differ, in: ${nameSome(namespaces)}, ${outcome} (GET /api/v1/verification/mismatches names them)`;
}
