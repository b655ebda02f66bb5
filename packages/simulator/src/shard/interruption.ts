import { CommandError } from '../node/command.js';

/** Interruptions of a node's work: its process stopped, or it stepped down. Waiting commands must not continue. */
export class Interruption {
  #count = 0;
  #ended = new AbortController();
  #latest: { code: number; name: string; message: string } = {
    code: 11600,
    name: 'InterruptedAtShutdown',
    message: 'interrupted at shutdown',
  };

  /** Interruptions so far. A command records it while it waits. */
  get count(): number {
    return this.#count;
  }

  /** Aborted by the next interruption. */
  get next(): AbortSignal {
    return this.#ended.signal;
  }

  byShutdown(): void {
    this.#interrupt({ code: 11600, name: 'InterruptedAtShutdown', message: 'interrupted at shutdown' });
  }

  byStepDown(): void {
    this.#interrupt({ code: 11602, name: 'InterruptedDueToReplStateChange', message: 'operation was interrupted' });
  }

  /** @throws CommandError 11600 or 11602 when there was an interruption since `before` */
  refuseSince(before: number): void {
    if (before !== this.#count) throw new CommandError(this.#latest.code, this.#latest.name, this.#latest.message);
  }

  #interrupt(cause: { code: number; name: string; message: string }): void {
    this.#count += 1;
    this.#latest = cause;
    this.#ended.abort();
    this.#ended = new AbortController();
  }
}
