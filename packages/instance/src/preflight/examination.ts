import type { Warning } from '@convoy/api/contract/progress';
import { CHECKED_NAMES_MAX } from '@convoy/api/fleet/published-details';
import { codeOf, failureName } from '../cluster/failure.js';
import { knownFailure } from '../cluster/named-failure.js';
import type { CheckName, PreflightItem, PreflightReport } from './report.js';

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
   * Runs a check that may refuse the start.
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
