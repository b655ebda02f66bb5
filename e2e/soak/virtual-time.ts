import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timersModule from 'node:timers';
import timersPromises from 'node:timers/promises';
import type { Random } from '@convoy/cli/demo/random';
import { TimerQueue, type VirtualTimer } from './timer-queue.js';

/** Real milliseconds that nothing may happen at all, with somebody still waiting, before that counts as a deadlock. */
const idleMax_ms = 5_000;
/** So often nothing may be found to do: on a machine under load a process may not be run for seconds. */
const idleTurnsMax = 1_000;

/** The process's own timers, clocks and random sources while virtual time is installed. */
interface Replaced {
  readonly target: object;
  readonly name: string;
  readonly own: PropertyDescriptor | undefined;
}

/**
 * Time that passes only when all processes are idle. While it is installed every timer, clock and random source of
 * the process is its own: what a server would take minutes to do is over at once, and the same every time.
 */
export class VirtualTime {
  readonly #queue = new TimerQueue();
  readonly #replaced: Replaced[] = [];
  readonly #realImmediate = setImmediate;
  readonly #realTimeout = setTimeout;
  readonly #realNow: () => number;
  #immediates: (() => void)[] = [];
  #now_ms: number;
  /** Timers that have fired, for the stats of a run. */
  steps = 0;

  private constructor(
    readonly start_ms: number,
    private readonly random: Random,
  ) {
    this.#now_ms = start_ms;
    this.#realNow = performance.now.bind(performance);
  }

  /**
   * Puts virtual time in place of the process's own until `uninstall`.
   * @param start_ms milliseconds since 1970 at which it begins
   * @param random gives what Math.random and the cryptographic sources answer
   */
  static install(start_ms: number, random: Random): VirtualTime {
    const time = new VirtualTime(start_ms, random);
    time.#replaceTimers();
    time.#replaceClocks();
    time.#replaceRandom();
    syncBuiltinESMExports();
    return time;
  }

  /** Gives the process its own time back. Timers that are still waiting never fire. */
  uninstall(): void {
    for (const { target, name, own } of this.#replaced.reverse()) {
      if (own === undefined) Reflect.deleteProperty(target, name);
      else Object.defineProperty(target, name, own);
    }
    this.#replaced.length = 0;
    syncBuiltinESMExports();
  }

  /** Milliseconds since virtual time began. */
  get elapsed_ms(): number {
    return this.#now_ms - this.start_ms;
  }

  /** Resolves after so much virtual time. */
  sleep(duration_ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#queue.add(this.#now_ms + Math.max(0, duration_ms), resolve, null);
    });
  }

  /**
   * Lets things happen until the promise is settled, and answers as it does.
   * @param passes whether time passes: while something real is waited for, such as a port, it stands still
   */
  async run<T>(promise: Promise<T>, passes = true): Promise<T> {
    const state = { settled: false };
    const mark = (): void => {
      state.settled = true;
    };
    promise.then(mark, mark);
    let idleSince_ms: number | null = null;
    let idleTurns = 0;
    while (!state.settled) {
      await this.#quiet();
      if (this.#immediate() || (passes && this.#advance())) {
        idleSince_ms = null;
        idleTurns = 0;
        continue;
      }
      idleSince_ms ??= this.#realNow();
      idleTurns += 1;
      if (idleTurns > idleTurnsMax && this.#realNow() - idleSince_ms > idleMax_ms)
        throw new Error('nothing happens any more, and somebody still waits');
    }
    return promise;
  }

  /** Resolves when no promise of this process can continue without an event. */
  #quiet(): Promise<void> {
    return new Promise((resolve) => this.#realImmediate(resolve));
  }

  #immediate(): boolean {
    const due = this.#immediates;
    if (due.length === 0) return false;
    this.#immediates = [];
    for (const run of due) run();
    return true;
  }

  #advance(): boolean {
    const timer = this.#queue.take();
    if (timer === undefined) return false;
    this.#now_ms = Math.max(this.#now_ms, timer.at_ms);
    if (timer.interval_ms !== null) this.#queue.again(timer, this.#now_ms + timer.interval_ms);
    this.steps += 1;
    timer.run();
    return true;
  }

  #replace(target: object, name: string, value: unknown): void {
    this.#replaced.push({ target, name, own: Object.getOwnPropertyDescriptor(target, name) });
    Object.defineProperty(target, name, { value, configurable: true, writable: true, enumerable: true });
  }

  #replaceTimers(): void {
    const timeout = (callback: (...args: unknown[]) => void, delay_ms = 0, ...args: unknown[]): VirtualTimer =>
      this.#queue.add(this.#now_ms + Math.max(1, delay_ms), () => callback(...args), null);
    const interval = (callback: (...args: unknown[]) => void, delay_ms = 0, ...args: unknown[]): VirtualTimer =>
      this.#queue.add(this.#now_ms + Math.max(1, delay_ms), () => callback(...args), Math.max(1, delay_ms));
    const clear = (timer: unknown): void => this.#queue.remove(timer);
    const immediate = (callback: (...args: unknown[]) => void, ...args: unknown[]): { unref: () => void } => {
      this.#immediates.push(() => callback(...args));
      return { unref: () => undefined };
    };
    for (const target of [globalThis, timersModule]) {
      this.#replace(target, 'setTimeout', timeout);
      this.#replace(target, 'setInterval', interval);
      this.#replace(target, 'clearTimeout', clear);
      this.#replace(target, 'clearInterval', clear);
      this.#replace(target, 'setImmediate', immediate);
    }
    this.#replace(timersPromises, 'setTimeout', this.#delay);
    this.#replace(
      timersPromises,
      'setImmediate',
      (value: unknown) => new Promise((resolve) => this.#immediates.push(() => resolve(value))),
    );
  }

  readonly #delay = (delay_ms = 0, value?: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(abortError(signal));
        return;
      }
      const onAbort = (): void => {
        this.#queue.remove(timer);
        if (signal !== undefined) reject(abortError(signal));
      };
      const timer = this.#queue.add(
        this.#now_ms + Math.max(1, delay_ms),
        () => {
          signal?.removeEventListener('abort', onAbort);
          resolve(value);
        },
        null,
      );
      signal?.addEventListener('abort', onAbort, { once: true });
    });

  #replaceClocks(): void {
    this.#replace(Date, 'now', () => Math.floor(this.#now_ms));
    this.#replace(performance, 'now', () => this.#now_ms - this.start_ms);
  }

  #replaceRandom(): void {
    const bytes = (count: number): Buffer => Buffer.from(Array.from({ length: count }, () => this.random.below(256)));
    this.#replace(Math, 'random', () => this.random.next());
    this.#replace(crypto, 'randomBytes', bytes);
    this.#replace(crypto, 'randomUUID', () => uuidText(bytes(16)));
  }

  /** Resolves after this real time; for everything outside of the virtual world. */
  real(duration_ms: number): Promise<void> {
    return new Promise((resolve) => this.#realTimeout(resolve, duration_ms));
  }
}

function abortError(signal: AbortSignal): Error {
  return Object.assign(new Error('The operation was aborted', { cause: signal.reason }), {
    name: 'AbortError',
    code: 'ABORT_ERR',
  });
}

/** Version 4, as the process's own source makes them. */
function uuidText(bytes: Buffer): string {
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
