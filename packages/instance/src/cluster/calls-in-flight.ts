import { AnswerLimits } from './answer-limits.js';
import type { CallOptions } from './node-client.js';
import { NoAnswerError, type Wait } from '../async/clock.js';
import type { Waits } from './waits.js';

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
