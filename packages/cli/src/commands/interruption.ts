import { exitCodes } from './exit-code.js';

/** Reason of an end by the user or the system. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** Whether an error comes from an interruption. */
export function isInterruption(error: unknown): boolean {
  return error instanceof Interrupted || (error instanceof Error && error.cause instanceof Interrupted);
}

/**
 * A signal that Ctrl-C or SIGTERM aborts. Terminals may send a signal twice, so a second one within a second has no
 * effect; a later one ends the process immediately.
 * @param message effect of an interruption
 */
export function interruption(message = 'Interrupted: stopping everything …'): AbortSignal {
  const controller = new AbortController();
  let firstAt = 0;
  const interrupt = () => {
    if (!controller.signal.aborted) {
      firstAt = performance.now();
      console.error(`\n${message}`);
      controller.abort(new Interrupted('interrupted'));
    } else if (performance.now() - firstAt > 1000) {
      process.exit(exitCodes.interrupted);
    }
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, interrupt);
  return controller.signal;
}
