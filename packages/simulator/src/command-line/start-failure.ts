/**
 * One sentence for a person about why the servers did not start, or the stack of an unexpected failure.
 * @param error of the worker
 */
export function startFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, port, address } = error as { code?: string; port?: number; address?: string };
  switch (code) {
    case 'EADDRINUSE':
      return (
        `Port ${port ?? ''} of ${address ?? 'this machine'} is in use: choose another --port, or 0 for any free ` +
        'ones.'
      );
    case 'EACCES':
      return (
        `Port ${port ?? ''} of ${address ?? 'this machine'} may not be opened by this user: choose a --port of ` +
        '1024 or more.'
      );
    case 'ERR_WORKER_OUT_OF_MEMORY':
      return 'The data no longer fits into the memory allowed: choose a larger --memory-mb.';
    default:
      return error.stack ?? error.message;
  }
}
