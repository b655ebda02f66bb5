import type { CallOptions } from './node-client.js';

/** Grace beyond a call's server-side limit; after it the connection counts as dead. */
const answerGrace_ms = 30_000;

/** Rejects calls in flight when their client closes. */
export class ClientClosedError extends Error {
  override readonly name = 'ClientClosedError';
}

/** Thrown if a node has not answered well after the call's own limit. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/**
 * The calls in flight through one client. Each gets its own signal, which follows the caller's, the client's closing
 * and the time limit. Afterwards nothing stays registered on the caller's long-lived signal.
 */
export class CallsInFlight {
  private readonly calls = new Map<AbortController, Promise<void>>();
  private closed = false;

  /**
   * Runs one call under its own signal.
   * @throws the caller's abort reason, ClientClosedError, NoAnswerError or what the call throws
   */
  async run<T>(options: CallOptions, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    options.signal.throwIfAborted();
    if (this.closed) throw new ClientClosedError('The client is closed');
    const controller = new AbortController();
    const follow = () => controller.abort(options.signal.reason);
    options.signal.addEventListener('abort', follow, { once: true });
    const timer = limitTimer(options, controller);
    const running = call(controller.signal);
    const settled = running.then(noResult, noResult);
    this.calls.set(controller, settled);
    try {
      return await running;
    } finally {
      clearTimeout(timer);
      options.signal.removeEventListener('abort', follow);
      this.calls.delete(controller);
    }
  }

  /** Aborts all calls and waits until they have ended; later calls are refused. */
  async close(): Promise<void> {
    this.closed = true;
    const settled = [...this.calls.values()];
    for (const controller of this.calls.keys()) controller.abort(new ClientClosedError('The client was closed'));
    await Promise.all(settled);
  }
}

function limitTimer(options: CallOptions, controller: AbortController): NodeJS.Timeout | undefined {
  if (options.maxTime_ms === undefined) return undefined;
  const limit_ms = options.maxTime_ms + answerGrace_ms;
  return setTimeout(() => controller.abort(new NoAnswerError(`No answer within ${limit_ms} ms`)), limit_ms);
}

function noResult(): void {
  // The caller handles the result; only completion matters here.
}
