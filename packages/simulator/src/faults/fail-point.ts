import { Int32 } from 'bson';
import { typeName } from '../bson/type-of.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { doc, docOrEmpty, numberOf } from '../node/doc-fields.js';
import { unsimulated } from '../node/unsimulated.js';

/** How often a fail point acts. */
interface FailPointMode {
  readonly kind: 'off' | 'alwaysOn' | 'times';
  /** Of `times`. */
  readonly left: number;
}

const countMax = 0x7fffffff;
const off: FailPointMode = { kind: 'off', left: 0 };

/** One fail point of a node: whether it acts when it is reached, with which data, and how often it has acted. */
export class FailPoint {
  #mode: FailPointMode = off;
  #data: Doc = new Map();
  #entered = 0;
  #changed = new Set<() => void>();

  /**
   * Applies a `configureFailPoint`.
   * @returns the reply: how often the point has acted since the node started
   * @throws CommandError 20 without a mode, 2 and 14 for unknown modes, 115 for what is not simulated
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
    const field = ['failAllCommands', 'failInternalCommands'].find((name) => data?.has(name) === true);
    if (field !== undefined) throw unsimulated(field);
    this.#mode = readMode(body.get('mode'));
    this.#data = docOrEmpty(data);
    this.#wake();
    return doc(['count', new Int32(this.#entered)]);
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
    if (!concerns(data)) return undefined;
    this.#takeTurn();
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

  #takeTurn(): void {
    const { kind, left } = this.#mode;
    if (kind === 'times') this.#mode = left <= 1 ? off : { kind, left: left - 1 };
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
  if (mode === 'alwaysOn') return { kind: 'alwaysOn', left: 0 };
  if (typeof mode === 'string') throw badValue(`unknown mode: ${mode}`);
  if (!(mode instanceof Map)) throw new CommandError(14, 'TypeMismatch', `'mode' must be a string or JSON object`);
  const other = ['skip', 'activationProbability'].find((name) => mode.has(name));
  if (other !== undefined) throw unsimulated(`mode ${other}`);
  if (!mode.has('times')) throw badValue(`'mode' must be one of ['times', 'skip', 'activationProbability']`);
  const left = timesOf(mode);
  return left === 0 ? off : { kind: 'times', left };
}

function timesOf(mode: Doc): number {
  const times = numberOf(mode.get('times'));
  if (times === undefined || !Number.isInteger(times)) {
    throw new CommandError(
      14,
      'TypeMismatch',
      `Expected field "times" to have numeric type, but found ${typeName(mode.get('times'))}`,
    );
  }
  if (times < 0) throw badValue(`'times' option to 'mode' must be positive`);
  if (times > countMax) throw badValue(`'times' option to 'mode' is too large`);
  return times;
}

function badValue(message: string): CommandError {
  return new CommandError(2, 'BadValue', message);
}
