import type { CommandResult } from '@convoy/api/fleet/fleet';

/** Commands remembered; a fleet gets a handful in its life. */
const COMMANDS_MAX = 256;

/**
 * The commands that this process has handled, with their results. A queue that was flushed, or a job that was handed
 * out twice, may bring a command again: it gets the first result, and nothing else happens.
 */
export class CommandLedger {
  readonly #results = new Map<string, Promise<CommandResult>>();

  /** The result of the command: the known one, or that of handling it now. A handling that throws is forgotten. */
  once(commandId: string, handle: () => Promise<CommandResult>): Promise<CommandResult> {
    const known = this.#results.get(commandId);
    if (known !== undefined) return known;
    const result = handle();
    this.#results.set(commandId, result);
    result.catch(() => this.#results.delete(commandId));
    this.#forgetOldest();
    return result;
  }

  #forgetOldest(): void {
    if (this.#results.size <= COMMANDS_MAX) return;
    const oldest = this.#results.keys().next();
    if (oldest.done !== true) this.#results.delete(oldest.value);
  }
}
