import type { CallOptions } from './node-client.js';

/** What a call may take beyond its server-side limit before its connection counts as dead. */
const answerGrace_ms = 30_000;

/** The reason given to calls in flight when their door is closed. */
export class ClientClosedError extends Error {
  override readonly name = 'DoorClosedError';
}

/** Thrown when a node has not answered long after the call's own limit had passed. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/**
 * The calls in flight through one door. Each gets a signal of its own that follows the caller's, the door's closing
 * and its time limit; nothing stays registered on the caller's long-lived signal afterwards.
 */
export class CallsInFlight {
  private readonly calls = new Map<AbortController, Promise<void>>();
  private closed = false;

  /**
   * Runs one call under a signal of its own.
   * @throws the caller's abort reason, DoorClosedError, NoAnswerError or what the call throws
   */
  async run<T>(options: CallOptions, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    options.signal.throwIfAborted();
    if (this.closed) throw new ClientClosedError('The door is closed');
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

  /** Ends all calls and waits until they have ended; later ones are refused. */
  async close(): Promise<void> {
    this.closed = true;
    const settled = [...this.calls.values()];
    for (const controller of this.calls.keys()) controller.abort(new ClientClosedError('The door was closed'));
    await Promise.all(settled);
  }
}

function limitTimer(options: CallOptions, controller: AbortController): NodeJS.Timeout | undefined {
  if (options.maxTime_ms === undefined) return undefined;
  const limit_ms = options.maxTime_ms + answerGrace_ms;
  return setTimeout(() => controller.abort(new NoAnswerError(`No answer within ${limit_ms} ms`)), limit_ms);
}

function noResult(): void {
  // The result belongs to the caller; only the moment of its arrival counts here.
}
