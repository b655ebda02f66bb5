import { Int32 } from 'bson';
import { typeName } from '../bson/type-of.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { doc, docOrEmpty, numberOf } from '../node/doc-fields.js';

/** How often a fail point acts: `left` times, after `skip` occasions, each with a probability. */
interface FailPointMode {
  readonly kind: 'off' | 'alwaysOn' | 'times' | 'skip' | 'activationProbability';
  readonly value: number;
}

/** Numbers of the modes in `getParameter` (server source: fail_point.h). */
const modeNumbers: Readonly<Record<FailPointMode['kind'], number>> = {
  off: 0,
  alwaysOn: 1,
  activationProbability: 2,
  times: 3,
  skip: 4,
};
const countMax = 0x7fffffff;
const off: FailPointMode = { kind: 'off', value: 0 };

/** One fail point of a node: whether it acts when it is reached, with which data, and how often it has acted. */
export class FailPoint {
  #mode: FailPointMode = off;
  #data: Doc = new Map();
  #entered = 0;
  #changed = new Set<() => void>();

  /** @param random a number from 0 to below 1 for `activationProbability` */
  constructor(private readonly random: () => number = Math.random) {}

  /**
   * Applies a `configureFailPoint`.
   * @returns the reply: how often the point has acted since the node started
   * @throws CommandError 20 without a mode, 2 and 14 for unknown modes
   */
  configure(body: Doc): Doc {
    const data = body.get('data');
    if (data !== undefined && !(data instanceof Map)) {
      throw new CommandError(
        14,
        'TypeMismatch',
        `Expected field "data" to have type object, but found ${typeName(data)}`,
      );
    }
    this.#mode = readMode(body.get('mode'));
    this.#data = docOrEmpty(data);
    this.#wake();
    return doc(['count', new Int32(this.#entered)]);
  }

  /** As `getParameter: 1, "failpoint.<name>": 1` shows it. */
  get shown(): Doc {
    return doc(['mode', new Int32(modeNumbers[this.#mode.kind])], ['data', this.#data]);
  }

  /** True when it is set to act, whether or not its turn has come. */
  get active(): boolean {
    return this.#mode.kind !== 'off';
  }

  /**
   * Reaches the point: counts, and returns the data with which it acts.
   * @param concerns occasions outside of the data do not count
   * @returns undefined when it does not act
   */
  enter(concerns: (data: Doc) => boolean = () => true): Doc | undefined {
    if (this.#mode.kind === 'off') return undefined;
    const data = this.#data;
    if (!concerns(data) || !this.#takesTurn()) return undefined;
    this.#entered += 1;
    this.#wake();
    return data;
  }

  /**
   * Waits until the point has acted this many times (`waitForFailPoint`).
   * @throws CommandError 50 after the time limit
   */
  async entered(times: number, limitMs: number): Promise<void> {
    const deadlineMs = Date.now() + limitMs;
    while (this.#entered < times) {
      const leftMs = deadlineMs - Date.now();
      if (leftMs <= 0) throw new CommandError(50, 'MaxTimeMSExpired', 'operation exceeded time limit');
      await this.#change(leftMs);
    }
  }

  /** Reaches the point and hangs there while it is set to act, or until the signal. */
  async held(ended: AbortSignal): Promise<void> {
    if (this.enter() === undefined) return;
    while (this.active && !ended.aborted) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          this.#changed.delete(done);
          ended.removeEventListener('abort', done);
          resolve();
        };
        this.#changed.add(done);
        ended.addEventListener('abort', done);
      });
    }
  }

  #takesTurn(): boolean {
    const { kind, value } = this.#mode;
    if (kind === 'alwaysOn') return true;
    if (kind === 'activationProbability') return this.random() < value;
    if (kind === 'skip') {
      if (value <= 0) return true;
      this.#mode = { kind, value: value - 1 };
      return false;
    }
    this.#mode = value <= 1 ? off : { kind, value: value - 1 };
    return true;
  }

  #wake(): void {
    for (const wake of [...this.#changed]) wake();
  }

  #change(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#changed.delete(done);
        resolve();
      };
      const timer = setTimeout(done, limitMs);
      this.#changed.add(done);
    });
  }
}

function readMode(mode: Value | undefined): FailPointMode {
  if (mode === undefined)
    throw new CommandError(20, 'IllegalOperation', `When setting a failpoint, you must supply a 'mode'`);
  if (mode === 'off') return off;
  if (mode === 'alwaysOn') return { kind: 'alwaysOn', value: 0 };
  if (typeof mode === 'string') throw badValue(`unknown mode: ${mode}`);
  if (!(mode instanceof Map)) throw new CommandError(14, 'TypeMismatch', `'mode' must be a string or JSON object`);
  if (mode.has('times')) {
    const value = countOf(mode, 'times', 'positive');
    return value === 0 ? off : { kind: 'times', value };
  }
  if (mode.has('skip')) return { kind: 'skip', value: countOf(mode, 'skip', 'positive') };
  if (mode.has('activationProbability')) return { kind: 'activationProbability', value: probabilityOf(mode) };
  throw badValue(`'mode' must be one of ['times', 'skip', 'activationProbability']`);
}

function countOf(mode: Doc, field: string, rule: string): number {
  const value = numberOf(mode.get(field));
  if (value === undefined || !Number.isInteger(value)) {
    throw new CommandError(
      14,
      'TypeMismatch',
      `Expected field "${field}" to have numeric type, but found ${typeName(mode.get(field))}`,
    );
  }
  if (value < 0) throw badValue(`'${field}' option to 'mode' must be ${rule}`);
  if (value > countMax) throw badValue(`'${field}' option to 'mode' is too large`);
  return value;
}

function probabilityOf(mode: Doc): number {
  const value = numberOf(mode.get('activationProbability'));
  if (value === undefined) {
    throw new CommandError(14, 'TypeMismatch', `the 'activationProbability' option to 'mode' must be a number`);
  }
  if (value < 0 || value > 1) throw badValue(`activationProbability must be between 0.0 and 1.0; found ${value}`);
  return value;
}

function badValue(message: string): CommandError {
  return new CommandError(2, 'BadValue', message);
}
