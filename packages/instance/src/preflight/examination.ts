import type { Warning } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ErrorName } from '@convoy/api/errors/table';
import { CHECKED_NAMES_MAX, type PublishedDetails } from '@convoy/api/fleet/published-details';
import { NoAnswerError } from '../async/clock.js';
import { causeText, unreachable, UnreachableClusterError } from '../cluster/connection-failure.js';
import { classify, codeOf, failureName } from '../cluster/failure.js';
import { knownFailure } from '../cluster/named-failure.js';

/** The checks before a start, in their order. */
export const checkNames = [
  'clusters',
  'recordedReleases',
  'options',
  'filter',
  'featureCompatibilityVersion',
  'privileges',
  'serverParameters',
  'collections',
  'sharding',
  'verification',
  'destination',
  'matched',
  'diskSpace',
  'equalIds',
  'carry',
  'inventory',
  'balancers',
  'oplogWindow',
] as const;

export type CheckName = (typeof checkNames)[number];

/** `failed` prevents a start; `unchecked`: the current access or privileges do not show it. */
export type CheckResult = 'passed' | 'warning' | 'failed' | 'unchecked';

/** What one check found, and what to do about it unless it passed. Never values of documents, users or passwords. */
export interface PreflightItem {
  check: CheckName;
  result: CheckResult;
  /** The refusal that `start` would answer; null unless failed. */
  error: ErrorName | null;
  description: string;
  /** What the description counts, where it does not name all. */
  names?: string[] | undefined;
}

/** Every condition for a start, each with its finding. */
export interface PreflightReport {
  canStart: boolean;
  items: PreflightItem[];
}

/** What is published while there are no findings to show. */
export const noFindings = { at_ms: 0, canStart: false, items: [] } satisfies PublishedDetails['preflight'];

/** The finding of a check that cannot refuse a start; a text alone: it is passed. `names`: what the text counts. */
export type Advice =
  | string
  | { result: 'passed' | 'unchecked'; description: string; names?: readonly string[] }
  | { result: 'warning'; name: string; description: string };

/** A passed check that counts names, which whoever wants to see them can list. */
export function passed(description: string, names: readonly string[]): Advice {
  return { result: 'passed', description, names };
}

/** @param names what the description counts */
export function unchecked(description: string, names?: readonly string[]): Advice {
  return { result: 'unchecked', description, ...(names === undefined ? {} : { names }) };
}

export function warning(name: string, description: string): Advice {
  return { result: 'warning', name, description };
}

/** Runs checks one after the other and collects their findings. */
export class Examination {
  readonly #items: PreflightItem[] = [];
  readonly #warnings: Warning[] = [];

  /** @param onRefusal `throw` ends at the first refusal, as `start` does; `goOn` collects them all */
  constructor(private readonly onRefusal: 'throw' | 'goOn') {}

  /** Warnings of advisory checks, for progress. */
  get warnings(): Warning[] {
    return [...this.#warnings];
  }

  get report(): PreflightReport {
    return { canStart: this.#items.every(({ result }) => result !== 'failed'), items: [...this.#items] };
  }

  /**
   * Runs a check that may refuse the start, and returns its finding.
   * @throws ConvoyError the refusal, if the examination ends at the first one; whatever else the check throws
   */
  async check(check: CheckName, examine: () => Advice | Promise<Advice>): Promise<void> {
    await this.require(check, examine, (finding) => finding);
  }

  /**
   * Runs a check that may refuse the start, and whose result later ones need.
   * @param describe the finding; null where a later step of the same check has one
   * @returns its result; undefined after a refusal
   * @throws ConvoyError the refusal, if the examination ends at the first one; whatever else the check throws
   */
  async require<T>(
    check: CheckName,
    examine: () => T | Promise<T>,
    describe: (found: T) => Advice | null,
  ): Promise<T | undefined> {
    try {
      const found = await examine();
      const advice = describe(found);
      if (advice !== null) this.#note(check, advice);
      return found;
    } catch (thrown) {
      const error = knownFailure(thrown);
      if (error === null) throw thrown;
      this.#items.push({ check, result: 'failed', error: error.error, description: error.errorDescription });
      if (this.onRefusal === 'throw') throw error;
      return undefined;
    }
  }

  /** Runs a check that only advises; if a server refuses its read, the check is `unchecked`. */
  async advise(check: CheckName, examine: () => Advice | Promise<Advice>): Promise<void> {
    try {
      this.#note(check, await examine());
    } catch (error) {
      if (codeOf(error) === null) throw error;
      this.#note(check, unchecked(`Not checked, because a server refused to show it: ${failureName(error)}.`));
    }
  }

  /** Records a check that could not run, because an earlier one failed. */
  skip(check: CheckName): void {
    this.#note(check, unchecked('Not checked: a failed check above prevents it.'));
  }

  #note(check: CheckName, noted: Advice): void {
    const advice = typeof noted === 'string' ? ({ result: 'passed', description: noted } as const) : noted;
    const names = 'names' in advice ? advice.names.slice(0, CHECKED_NAMES_MAX) : undefined;
    const { result, description } = advice;
    this.#items.push({ check, result, error: null, description, ...(names === undefined ? {} : { names }) });
    if (advice.result === 'warning') this.#warnings.push({ name: advice.name, description: advice.description });
  }
}

/**
 * A call without an answer fails after 20 s, and its repetition goes through another connection. An election takes
 * about 12 s. So two attempts are enough where another member can answer.
 */
const attemptsMax = 3;

/**
 * Checks, and checks again where a node gives no answer or an election is under way: checks change nothing.
 * @param report finds everything anew in every call
 * @param destination the name of the destination, as in the labels of clients
 * @throws ConvoyError `sourceUnavailable` or `destinationUnavailable`, which names the call that is not answered;
 * whatever else the report throws
 */
export async function repeatUnanswered(
  report: () => Promise<PreflightReport>,
  destination: string,
  signal: AbortSignal,
): Promise<PreflightReport> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await report();
    } catch (thrown) {
      signal.throwIfAborted();
      if (classify(thrown) !== 'retryable') throw thrown;
      if (attempt >= attemptsMax) throw unansweredBy(thrown, destination);
    }
  }
}

function unansweredBy(thrown: unknown, destination: string): ConvoyError {
  const [from, text] = described(thrown);
  const error = from.startsWith(destination) ? 'destinationUnavailable' : 'sourceUnavailable';
  return new ConvoyError(error, `${text} The check had to be given up; run it again.`, { cause: thrown });
}

/** Who failed, and how. */
function described(thrown: unknown): [from: string, text: string] {
  if (thrown instanceof UnreachableClusterError) return [thrown.cluster, unreachable(thrown.cluster, thrown.failure)];
  if (thrown instanceof NoAnswerError && thrown.wait !== null) {
    const { from, what } = thrown.wait;
    const remedy = 'Look at this node and its network: a member that is frozen has to be ended or to go on.';
    return [from, `${from} gives no answer to ${what}. ${remedy}`];
  }
  return ['', `A cluster did not answer: ${causeText(thrown)}. Check that its members run and can be reached.`];
}
