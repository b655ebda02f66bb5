import type { Warning } from '@convoy/api/contract/progress';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { codeOf, failureName } from '../cluster/failure.js';
import type { CheckName, PreflightItem, PreflightReport } from './report.js';

/** The finding of a check that cannot refuse a start. */
export type Advice =
  { result: 'passed' | 'unchecked'; description: string } | { result: 'warning'; name: string; description: string };

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
   * @returns its result; undefined after a refusal
   * @throws ConvoyError the refusal, if the examination ends at the first one; whatever else the check throws
   */
  async require<T>(
    check: CheckName,
    examine: () => T | Promise<T>,
    describe: (found: T) => Advice | string,
  ): Promise<T | undefined> {
    try {
      const found = await examine();
      const advice = describe(found);
      this.#note(check, typeof advice === 'string' ? { result: 'passed', description: advice } : advice);
      return found;
    } catch (error) {
      if (error instanceof ConvoyError)
        this.#items.push({ check, result: 'failed', error: error.error, description: error.errorDescription });
      if (this.onRefusal === 'throw' || !(error instanceof ConvoyError)) throw error;
      return undefined;
    }
  }

  /** Runs a check that only advises; if a server refuses its read, the check is `unchecked`. */
  async advise(check: CheckName, examine: () => Promise<Advice>): Promise<void> {
    const advice = await examine().catch((error: unknown): Advice => {
      if (codeOf(error) === null) throw error;
      return {
        result: 'unchecked',
        description: `Not checked, because a server refused to show it: ${failureName(error)}.`,
      };
    });
    this.#note(check, advice);
  }

  /** Records a check that could not run, because an earlier one failed. */
  skip(check: CheckName): void {
    this.#note(check, { result: 'unchecked', description: 'Not checked: a failed check above prevents it.' });
  }

  #note(check: CheckName, advice: Advice): void {
    this.#items.push({ check, result: advice.result, error: null, description: advice.description });
    if (advice.result === 'warning') this.#warnings.push({ name: advice.name, description: advice.description });
  }
}
