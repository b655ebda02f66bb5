import type { CommandResult } from '@convoy/api/fleet/fleet';

/** Maximum remembered commands; a fleet receives a handful in its life. */
const COMMANDS_MAX = 256;

/**
 * The commands that this process handled, with their results. A flushed queue or a job that ran twice may deliver a
 * command again: it gets the first result without further effect.
 */
export class CommandLedger {
  readonly #results = new Map<string, Promise<CommandResult>>();

  /** The command's remembered result, or the result of handling it now. Forgets a command whose handler throws. */
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
