import { NoAnswerError, type Wait } from '../async/clock.js';
import type { CallOptions } from './node-client.js';

/** Calls that take longer than this, beyond the time that they give the server, are shown. */
const shownAfter_ms = 5_000;

/** The call failed because its client is closed. */
export class ClientClosedError extends Error {
  override readonly name = 'ClientClosedError';

  constructor() {
    super('The client is closed');
  }
}

interface Call {
  running: Promise<unknown>;
  kind: string;
  began_ms: number;
  /** How long the answer may take before anybody wonders. */
  expected_ms: number;
}

/**
 * The calls in flight through one client. Each has its own signal, which aborts with the caller's, when the client
 * closes, and when no answer comes in time. Once a call ends, no listener stays on the caller's long-lived signal.
 */
export class CallsInFlight {
  private readonly calls = new Map<AbortController, Call>();
  private readonly limits: AnswerLimits;
  private readonly forget: () => void;
  private closed = false;

  /**
   * @param label of the client
   * @param waits shows the calls without an answer
   */
  constructor(
    private readonly label = 'node',
    waits?: Waits,
    private readonly now_ms: () => number = () => performance.now(),
  ) {
    this.limits = new AnswerLimits(now_ms);
    this.forget = waits?.add(() => this.#silent()) ?? (() => undefined);
  }

  /**
   * Runs one call under its own signal.
   * @param kind the command and its namespace, for example `find of shop.orders`
   * @throws the caller's abort reason, ClientClosedError, NoAnswerError or what the call throws
   */
  async run<T>(options: CallOptions, call: (signal: AbortSignal) => Promise<T>, kind = 'a call'): Promise<T> {
    options.signal.throwIfAborted();
    if (this.closed) throw new ClientClosedError();
    const controller = new AbortController();
    const abortCall = () => controller.abort(options.signal.reason);
    options.signal.addEventListener('abort', abortCall, { once: true });
    const timer = this.#limit(options, kind, controller);
    const began_ms = this.now_ms();
    try {
      const running = call(controller.signal);
      const expected_ms = options.answerMax_ms === Infinity ? Infinity : (options.maxTime_ms ?? 0) + shownAfter_ms;
      this.calls.set(controller, { running, kind, began_ms, expected_ms });
      const answer = await running;
      this.limits.answered(kind, this.now_ms() - began_ms - (options.maxTime_ms ?? 0));
      return answer;
    } finally {
      clearTimeout(timer);
      options.signal.removeEventListener('abort', abortCall);
      this.calls.delete(controller);
    }
  }

  /** Aborts all calls and waits until they have ended; later calls are refused. */
  async close(): Promise<void> {
    this.closed = true;
    this.forget();
    for (const controller of this.calls.keys()) controller.abort(new ClientClosedError());
    await Promise.allSettled([...this.calls.values()].map(({ running }) => running));
  }

  #limit(options: CallOptions, kind: string, controller: AbortController): NodeJS.Timeout | undefined {
    const silent_ms = options.answerMax_ms ?? this.limits.limit_ms(kind);
    if (silent_ms === Infinity) return undefined;
    const limit_ms = (options.maxTime_ms ?? 0) + silent_ms;
    return setTimeout(() => {
      this.limits.exceeded(kind, silent_ms);
      const wait = { from: this.label, what: kind };
      controller.abort(new NoAnswerError(`No answer from ${this.label} to ${kind} within ${limit_ms} ms`, wait));
    }, limit_ms);
  }

  *#silent(): Generator<Wait> {
    const now_ms = this.now_ms();
    for (const { kind, began_ms, expected_ms } of this.calls.values())
      if (now_ms - began_ms >= expected_ms) yield { from: this.label, what: kind };
  }
}

/**
 * A call that has no answer for this long is repeated through another connection. A frozen node is replaced by an
 * election within 10 to 12 s; a router that has sent it something before does not ask its successor by itself.
 */
const answer_ms = 20_000;
/** How long a command counts as slow after it was. */
const remembered_ms = 10 * 60_000;
/** Kinds of slow commands that are remembered; beyond that all begin anew. */
const kindsMax = 1_000;
/** A call may take this many times as long as the slowest one before. */
const slack_ratio = 2;

interface Raised {
  limit_ms: number;
  until_ms: number;
}

/**
 * How long calls may go without an answer, beyond the time that they give the server. Each call in vain doubles the
 * limit of its kind, and a slow answer raises it. So a server that is slow finishes its work, at the cost of as much
 * again, while one that is frozen costs one short limit.
 */
export class AnswerLimits {
  readonly #raised = new Map<string, Raised>();

  /** @param now_ms of a monotonic clock */
  constructor(private readonly now_ms: () => number = () => performance.now()) {}

  /** @param kind the command and its namespace */
  limit_ms(kind: string): number {
    const raised = this.#raised.get(kind);
    if (raised === undefined) return answer_ms;
    if (raised.until_ms > this.now_ms()) return raised.limit_ms;
    this.#raised.delete(kind);
    return answer_ms;
  }

  /** Notes a call that was given up. Of calls that ran at the same time, the first one counts. */
  exceeded(kind: string, limit_ms: number): void {
    this.#raise(kind, slack_ratio * limit_ms);
  }

  /** Notes an answer. */
  answered(kind: string, took_ms: number): void {
    if (took_ms > answer_ms) this.#raise(kind, slack_ratio * took_ms);
  }

  #raise(kind: string, limit_ms: number): void {
    if (this.#raised.size >= kindsMax && !this.#raised.has(kind)) this.#raised.clear();
    const raised_ms = Math.max(limit_ms, this.limit_ms(kind));
    this.#raised.set(kind, { limit_ms: raised_ms, until_ms: this.now_ms() + remembered_ms + raised_ms });
  }
}

/** What a process waits for now, for its warnings: calls without an answer, and streams that stand still. */
export class Waits {
  readonly #sources = new Set<() => Iterable<Wait>>();

  /** @param onReopened called for every stream that is opened anew because it stands still */
  constructor(readonly onReopened: (wait: Wait) => void = () => undefined) {}

  /** Adds somebody who waits. @returns removes it again */
  add(source: () => Iterable<Wait>): () => void {
    this.#sources.add(source);
    return () => this.#sources.delete(source);
  }

  /** All present ones, each once, in order. */
  get present(): Wait[] {
    const found = new Map<string, Wait>();
    for (const source of this.#sources) for (const wait of source()) found.set(`${wait.from}\n${wait.what}`, wait);
    return [...found.keys()].sort().flatMap((key) => found.get(key) ?? []);
  }
}
