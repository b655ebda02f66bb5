import { exitCodes } from './exit-code.js';

/** What ends a command that the user or the system wants to end. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/**
 * A signal that is aborted by Ctrl-C or SIGTERM. A terminal may send one twice, so that the next within a second changes nothing; a later one ends the process at once.
 * @param message what an interruption means here
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
