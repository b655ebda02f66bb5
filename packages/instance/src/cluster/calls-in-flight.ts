import type { CallOptions } from './node-client.js';

/** Convoy waits this long beyond a call's `maxTimeMS` for the answer, then aborts the call. */
const answerGrace_ms = 30_000;

/** The call failed because its client is closed. */
export class ClientClosedError extends Error {
  override readonly name = 'ClientClosedError';

  constructor() {
    super('The client is closed');
  }
}

/** No answer within Convoy's time limit: the node may have executed the call or not. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/**
 * The calls in flight through one client. Each has its own signal, which aborts with the caller's, when the client
 * closes, and after the time limit if there is one. Once a call ends, no listener stays on the caller's long-lived
 * signal.
 */
export class CallsInFlight {
  private readonly calls = new Map<AbortController, Promise<unknown>>();
  private closed = false;

  /**
   * Runs one call under its own signal.
   * @throws the caller's abort reason, ClientClosedError, NoAnswerError or what the call throws
   */
  async run<T>(options: CallOptions, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    options.signal.throwIfAborted();
    if (this.closed) throw new ClientClosedError();
    const controller = new AbortController();
    const abortCall = () => controller.abort(options.signal.reason);
    options.signal.addEventListener('abort', abortCall, { once: true });
    const timer = limitTimer(options, controller);
    try {
      const running = call(controller.signal);
      this.calls.set(controller, running);
      return await running;
    } finally {
      clearTimeout(timer);
      options.signal.removeEventListener('abort', abortCall);
      this.calls.delete(controller);
    }
  }

  /** Aborts all calls and waits until they have ended; later calls are refused. */
  async close(): Promise<void> {
    this.closed = true;
    for (const controller of this.calls.keys()) controller.abort(new ClientClosedError());
    await Promise.allSettled(this.calls.values());
  }
}

function limitTimer(options: CallOptions, controller: AbortController): NodeJS.Timeout | undefined {
  if (options.maxTime_ms === undefined) return undefined;
  const limit_ms = options.maxTime_ms + answerGrace_ms;
  return setTimeout(() => controller.abort(new NoAnswerError(`No answer within ${limit_ms} ms`)), limit_ms);
}
